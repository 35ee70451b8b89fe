//! Rivals written in C++. If there is a compiler, the bench compiles and loads them when it starts.

#![allow(unsafe_code, reason = "foreign functions")]

use std::{
    ffi::{CStr, c_char},
    path::{Path, PathBuf},
    process::Command,
};

use libloading::Library;

/// Compiles `source`, a path in `benches/`, with OpenMP or another library that `flags` name.
/// Returns the path of the compiled library, or the reason why it could not be compiled.
pub(crate) fn build(source: &str, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let kind = source.file_stem().unwrap_or_default().to_string_lossy();
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{kind}-{name}.so"));
    let mut compiler = Command::new("c++");
    compiler.args(["-O3", "-shared", "-fPIC"]);
    if cfg!(target_arch = "x86_64") {
        compiler.arg("-march=x86-64"); // the target of rustc
    }
    let result = compiler.arg("-o").arg(&library).arg(&source).args(flags).output();
    let output = result.map_err(|error| format!("c++: {error}"))?;
    output.status.success().then_some(library).ok_or_else(|| "c++ does not find it".into())
}

pub(crate) fn open(path: &Path) -> Result<&'static Library, String> {
    // SAFETY: 1. the library was built from a source of this folder. The library's initialisers are
    // those of OpenMP or oneTBB.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library))) // the library's threads may still run when this program ends
}

/// The version that the library reports.
pub(crate) fn version(library: &'static Library) -> Result<String, String> {
    // SAFETY: 2. each source declares `version` with this type.
    let version = unsafe { library.get::<extern "C" fn() -> *const c_char>("version") };
    let version = version.map_err(|error| error.to_string())?;
    // SAFETY: 3. it returns a string that lives as long as the library, which is never closed.
    let version = unsafe { CStr::from_ptr(version()) };
    Ok(version.to_string_lossy().into_owned())
}
