//! Enums whose variants have names, on the command line or in JSON.

/// Defines such an enum. The comments on the variants are the help of the command line. The word
/// `default` may stand behind the name of the variant that is the default.
#[macro_export]
macro_rules! named {
    ($(#[$doc:meta])* $name:ident {
        $($(#[doc = $meaning:literal])+ $variant:ident = $text:literal $($default:ident)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $meaning])+ $(#[$default])? $variant,)* }

        impl $name {
            /// All variants, each with its name and its meaning.
            pub const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $text, concat!($($meaning),+)),)*];

            /// The name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The variant of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().find(|one| one.1 == name).map(|one| one.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
