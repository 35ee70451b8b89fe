//! The command line: what the user asked for, and what is read and written for it.

use crate::{
    arithmetic::{Arithmetic, BigFixed9, Fixed9},
    blt,
    election::Election,
    generate::{self, Synthetic},
    help,
    meek::Rule,
    output::Output,
    pinning::Pinning,
    tally::{self, Effort, Parallel, Threads},
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{
    error::Error,
    fs,
    io::{self, BufWriter, Read, Write},
    num::NonZeroUsize,
    path::PathBuf,
};

/// Counts elections by the Single Transferable Vote, on all cores
#[derive(Debug, Parser)]
#[command(name = "stv", version, after_long_help = help::STV)]
struct Arguments {
    /// The numbers to count with
    #[arg(long, value_enum, default_value_t = ArithmeticKind::Bigfixed9)]
    arithmetic: ArithmeticKind,
    /// The ballot file, in BLT format [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The transcript's line about the program, instead of "Implementation: rangesteal"
    #[arg(long, value_name = "NAME")]
    package_name: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ArithmeticKind {
    /// Nine decimals in 64 bits: up to 9 thousand million ballots
    Fixed9,
    /// Nine decimals without limit
    Bigfixed9,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count by Meek's method
    #[command(after_long_help = help::MEEK)]
    Meek(MeekArguments),
    /// Write a synthetic election to standard output; the same options give the same bytes everywhere
    Generate(Synthetic),
}

#[derive(Debug, Args)]
struct MeekArguments {
    /// Iterate until the surplus is at most 1/10^N
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(0..=18))]
    omega_exponent: u32,
    /// Do not let elected candidates below the quota lower the surplus
    #[arg(long)]
    force_positive_surplus: bool,
    /// Who distributes the ballots
    #[arg(long, value_enum, default_value_t = Parallel::Pool)]
    parallel: Parallel,
    /// How many threads distribute the ballots, with rayon and pool [default: all that the machine has]
    #[arg(long, value_name = "N")]
    num_threads: Option<NonZeroUsize>,
    /// Whether the pool keeps its threads on CPUs of their own
    #[arg(long, value_enum, default_value_t)]
    pinning: Pinning,
    /// Leave every thread of the pool alone with its share of the ballots
    #[arg(long)]
    disable_work_stealing: bool,
    #[command(flatten)]
    output: Output,
}

/// Does what the command line says.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    log_to_standard_error();
    match &arguments.command {
        Command::Meek(meek) => count(&arguments, meek),
        Command::Generate(synthetic) => Ok(generate::write(synthetic, &mut BufWriter::new(io::stdout()))?),
    }
}

/// Warnings and worse, unless `RUST_LOG` says otherwise.
fn log_to_standard_error() {
    let environment = env_logger::Env::default().default_filter_or("warn");
    let line = |out: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        let level = record.level().as_str().to_lowercase();
        writeln!(out, "stv: {level}: {}", record.args())
    };
    env_logger::Builder::from_env(environment).format(line).init();
}

fn count(arguments: &Arguments, meek: &MeekArguments) -> Result<(), Box<dyn Error>> {
    let election = read(arguments.input.as_ref())?;
    let effort = match arguments.arithmetic {
        ArithmeticKind::Fixed9 => count_with::<Fixed9>(&election, arguments, meek)?,
        ArithmeticKind::Bigfixed9 => count_with::<BigFixed9>(&election, arguments, meek)?,
    };
    eprintln!("stv: {effort}");
    Ok(())
}

fn read(input: Option<&PathBuf>) -> Result<Election, Box<dyn Error>> {
    let (source, bytes) = if let Some(path) = input {
        (path.display().to_string(), fs::read(path))
    } else {
        let mut bytes = Vec::new();
        let read = io::stdin().read_to_end(&mut bytes);
        ("standard input".to_owned(), read.map(|_| bytes))
    };
    let bytes = bytes.map_err(|error| format!("cannot read {source}: {error}"))?;
    Ok(blt::read(&source, &bytes)?)
}

fn count_with<A: Arithmetic>(
    election: &Election,
    arguments: &Arguments,
    meek: &MeekArguments,
) -> Result<Effort, Box<dyn Error>> {
    let rule =
        Rule { omega_exponent: meek.omega_exponent, force_positive_surplus: meek.force_positive_surplus };
    let threads = Threads {
        parallel: meek.parallel,
        number: meek.num_threads,
        pinning: meek.pinning.into(),
        stealing: !meek.disable_work_stealing,
    };
    let package = arguments.package_name.clone().unwrap_or_else(|| "Implementation: rangesteal".to_owned());
    meek.output
        .of(election, package, &mut |listeners| tally::count::<A, _>(election, rule, threads, listeners))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let arguments = Arguments::parse_from(["stv", "meek"]);
        assert!(matches!(arguments.arithmetic, ArithmeticKind::Bigfixed9));
        let Command::Meek(meek) = arguments.command else { panic!("meek was said") };
        assert_eq!((meek.omega_exponent, meek.parallel, meek.num_threads), (6, Parallel::Pool, None));
        assert_eq!(meek.pinning, Pinning::BestEffort);
        assert!(!meek.force_positive_surplus && !meek.disable_work_stealing);
    }
}
