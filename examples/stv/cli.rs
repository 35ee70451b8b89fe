//! The command line: the user's options, inputs and outputs.

mod again;

use crate::{
    check::{self, Check},
    convert::{self, Convert},
    help, input,
    kinds::one_of,
    output::{Output, Ties},
    page::{self, Page},
    pinning::Pinning,
    reading::Reading,
    unwritten,
    verify::{self, Verify},
};
use again::{count_again, election, options};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, error::ErrorKind};
use std::{
    error::Error,
    io::{self, BufWriter, Read, Write},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::ExitCode,
};
use stv_ballots::{Election, EqualRanks, misleads};
use stv_count::{
    Approx, Arithmetic, BigFixed9, Crew, Effort, Exact, Fixed9, Float64, Parallel, Rule, Threads, Tie,
};
use stv_page::{Recipe, Record};

/// Counts elections by the Single Transferable Vote, on all cores
#[derive(Debug, Parser)]
#[command(name = "stv", version, after_long_help = help::STV)]
struct Arguments {
    #[command(flatten)]
    before: Counting,
    #[command(subcommand)]
    command: Command,
}

/// The options that may stand before or after the command.
#[derive(Debug, Args)]
struct Counting {
    /// The numbers to count with [default: bigfixed9]
    #[arg(long, value_enum)]
    arithmetic: Option<ArithmeticKind>,
    #[allow(clippy::doc_markdown)] // it is the help
    /// The ballot file, in BLT format, Scottish CSV or PrefLib, compressed with gzip or not
    /// [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The transcript's line about the program, instead of "Implementation: rangesteal"
    #[arg(long, value_name = "NAME", value_parser = one_line)]
    package_name: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ArithmeticKind {
    /// Nine decimals in 64 bits: up to 9 thousand million ballots
    Fixed9,
    /// Nine decimals without limit
    Bigfixed9,
    /// Fractions, never rounded: for few seats and rounds, since the digits multiply with every
    /// iteration
    Exact,
    /// Fractions; only keep factors are rounded, up to six decimals
    Approx,
    /// Floating point: fast, without limit in practice, and not exact
    Float64,
}

/// Selects the function for the chosen arithmetic.
macro_rules! with_arithmetic {
    ($kind:expr, $($count:ident)::+) => {
        match $kind {
            ArithmeticKind::Fixed9 => $($count)::+::<Fixed9>,
            ArithmeticKind::Bigfixed9 => $($count)::+::<BigFixed9>,
            ArithmeticKind::Exact => $($count)::+::<Exact>,
            ArithmeticKind::Approx => $($count)::+::<Approx>,
            ArithmeticKind::Float64 => $($count)::+::<Float64>,
        }
    };
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count by Meek's method
    #[command(after_long_help = help::MEEK)]
    Meek(MeekArguments),
    /// Count by block voting, for comparison: each of the first candidates of a ballot gets one
    /// vote
    Plurality(PluralityArguments),
    /// Check ballot files and summarise them
    Check(Check),
    /// Write a ballot file in plain BLT, or in another format, to standard output
    Convert(Convert),
    /// Repeat the count of a JSON result from its ballot file, and compare the two
    Verify(Verify),
    /// Write the page of a JSON result to standard output
    Page(Page),
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is one option of the command line
struct MeekArguments {
    /// Iterate until the surplus is at most 1/10^N
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(0..=18))]
    omega_exponent: u32,
    /// Do not let elected candidates below the quota lower the surplus
    #[arg(long)]
    force_positive_surplus: bool,
    /// The rule that decides which of the tied candidates is defeated: order (the order of [tie …]
    /// in the file, or of the ballot paper), backwards (fewest votes in the last round in which
    /// they differ, then order), or random:SEED (an order drawn from this number) [default: order]
    #[arg(long, value_name = "HOW")]
    tie: Option<Tie>,
    /// Turn warnings into errors: with any warning, count nothing and write nothing
    #[arg(long)]
    strict: bool,
    /// The way in which a ballot with equal ranks counts
    #[arg(long, value_parser = one_of(EqualRanks::ALL), default_value_t)]
    equal_ranks: EqualRanks,
    /// The name of --equal-ranks all-orders in stv-rs
    #[arg(long, conflicts_with = "equal_ranks")]
    equalize: bool,
    /// The threads that distribute the ballots
    #[arg(long, value_parser = one_of(Parallel::ALL), default_value_t = Parallel::Pool)]
    parallel: Parallel,
    /// Number of threads of the pool [default: all threads of the machine]
    #[arg(long, value_name = "N")]
    num_threads: Option<NonZeroUsize>,
    /// Whether each thread of the pool stays on its own CPU [default: best-effort]
    #[arg(long, value_enum)]
    pinning: Option<Pinning>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    counting: Counting,
    /// The ballot file, as with --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PluralityArguments {
    /// Number of candidates of a ballot that get a vote [default: the number of seats]
    #[arg(long, value_name = "N")]
    votes_per_ballot: Option<NonZeroUsize>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    counting: Counting,
    /// The ballot file, as with --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
}

impl Counting {
    /// Joins the options after the command with those before it.
    fn join(&mut self, after: &mut Self, file: &mut Option<PathBuf>) -> Result<(), clap::Error> {
        join(&mut self.arithmetic, &mut after.arithmetic, "--arithmetic")?;
        join(&mut self.package_name, &mut after.package_name, "--package-name")?;
        join(&mut self.input, &mut after.input, "--input")?;
        join(&mut self.input, file, "the ballot file")
    }
}

fn join<T>(before: &mut Option<T>, after: &mut Option<T>, what: &str) -> Result<(), clap::Error> {
    if before.is_some() && after.is_some() {
        let twice = format!("{what} is given before the command and after it");
        return Err(Arguments::command().error(ErrorKind::ArgumentConflict, twice));
    }
    *before = before.take().or(after.take());
    Ok(())
}

/// Refuses text that could look like another line of the transcript.
fn one_line(text: &str) -> Result<String, &'static str> {
    if text.contains(misleads) {
        Err("line breaks, control characters and characters that are not seen are not allowed")
    } else {
        Ok(text.to_owned())
    }
}

impl Arguments {
    fn arithmetic(&self) -> ArithmeticKind {
        self.before.arithmetic.unwrap_or(ArithmeticKind::Bigfixed9)
    }

    fn join(&mut self) -> Result<(), clap::Error> {
        match &mut self.command {
            Command::Meek(meek) => self.before.join(&mut meek.counting, &mut meek.file),
            Command::Plurality(plurality) => self.before.join(&mut plurality.counting, &mut plurality.file),
            Command::Convert(convert) => {
                if let Some(contradiction) = convert.contradiction() {
                    return Err(Arguments::command().error(ErrorKind::ArgumentConflict, contradiction));
                }
                join(&mut self.before.input, &mut convert.given(), "the ballot file")
            }
            Command::Check(_) | Command::Verify(_) | Command::Page(_) if self.before.input.is_some() => {
                let unread = "this command does not read --input; `check`, `page` and `verify` take their files after them";
                Err(Arguments::command().error(ErrorKind::ArgumentConflict, unread))
            }
            Command::Check(_) | Command::Verify(_) | Command::Page(_) => Ok(()),
        }
    }

    /// Refuses to overwrite the ballot file.
    fn are_apart(&self) -> Result<(), clap::Error> {
        let Command::Meek(meek) = &self.command else { return Ok(()) };
        match meek.output.overwrites(self.before.input.as_deref()) {
            Some(wrong) => Err(Arguments::command().error(ErrorKind::ArgumentConflict, wrong)),
            None => Ok(()),
        }
    }
}

/// Runs the command line, and returns the exit code.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::try_parse().and_then(|mut arguments| {
        arguments.join()?;
        arguments.are_apart()?;
        Ok(arguments)
    });
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(wrong) => {
            wrong.print()?;
            return Ok(ExitCode::from(u8::try_from(wrong.exit_code()).unwrap_or(1)));
        }
    };
    log_to_standard_error();
    let done = match &arguments.command {
        Command::Meek(meek) => count(&arguments, meek),
        Command::Plurality(plurality) => count_plurality(&arguments, plurality),
        Command::Check(check) => check::check(check),
        Command::Convert(convert) => convert::convert(convert, arguments.before.input.as_deref()),
        Command::Page(page) => page::page(page, &mut io::stdout()),
        Command::Verify(verify) => verify::verify(verify, &count_again, &mut io::stdout()),
    };
    done.map(|()| ExitCode::SUCCESS).map_err(unwritten::of_standard_output)
}

/// Logs warnings and errors, unless `RUST_LOG` says otherwise.
fn log_to_standard_error() {
    let environment = env_logger::Env::default().default_filter_or("warn");
    let line = |out: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        let level = record.level().as_str().to_lowercase();
        writeln!(out, "stv: {level}: {}", record.args())
    };
    env_logger::Builder::from_env(environment).format(line).init();
}

fn count(arguments: &Arguments, meek: &MeekArguments) -> Result<(), Box<dyn Error>> {
    let (effort, record) = counted(arguments, meek)?;
    meek.output.write(&record)?;
    eprintln!("stv: {effort}");
    Ok(())
}

/// Reads the ballots and counts them. One pool does both.
fn counted(arguments: &Arguments, meek: &MeekArguments) -> Result<(Effort, Record), Box<dyn Error>> {
    let threads =
        Threads { parallel: meek.parallel, number: meek.num_threads, pinning: meek.pinning.map(Into::into) };
    threads.together(|crew| {
        let (election, sha256) = election(arguments, meek, crew)?;
        let count = with_arithmetic!(arguments.arithmetic(), counted_in);
        count(&election, sha256, arguments, meek, crew)
    })?
}

fn count_plurality(arguments: &Arguments, plurality: &PluralityArguments) -> Result<(), Box<dyn Error>> {
    let election = read(arguments.before.input.as_deref(), plurality.reading)?;
    let count = with_arithmetic!(arguments.arithmetic(), stv_count::plurality);
    let votes = plurality.votes_per_ballot.map_or(election.seats, NonZeroUsize::get);
    Ok(count(
        &election,
        votes,
        &package(arguments, EqualRanks::default()),
        &mut BufWriter::new(io::stdout()),
    )?)
}

/// The transcript's line about the program.
fn package(arguments: &Arguments, equal_ranks: EqualRanks) -> String {
    let counting = match equal_ranks {
        EqualRanks::AllOrders => "",
        EqualRanks::AsDroop => " (equal ranks as in Droop)",
    };
    arguments.before.package_name.clone().unwrap_or_else(|| format!("Implementation: rangesteal{counting}"))
}

fn read(input: Option<&Path>, reading: Reading) -> Result<Election, Box<dyn Error>> {
    let read = |name: &str, reader: &mut dyn Read| stv_ballots::read(name, reader, reading.of_ballots());
    Ok(input::open(input, read)??)
}

fn counted_in<A: Arithmetic>(
    election: &Election,
    sha256: Option<String>,
    arguments: &Arguments,
    meek: &MeekArguments,
    crew: Crew<'_>,
) -> Result<(Effort, Record), Box<dyn Error>> {
    let rule = Rule {
        omega_exponent: meek.omega_exponent,
        force_positive_surplus: meek.force_positive_surplus,
        backwards: meek.tie == Some(Tie::Backwards),
    };
    let package = package(arguments, meek.equal_ranks);
    let recipe = Recipe { options: options(arguments, meek), sha256, ..Recipe::default() };
    let ties = Ties::new(meek.strict, meek.tie == Some(Tie::Order));
    meek.output.of(election, package, recipe, ties, &mut |listeners| {
        stv_count::count::<A, _>(election, rule, crew, listeners)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let arguments = Arguments::parse_from(["stv", "meek"]);
        assert!(matches!(arguments.arithmetic(), ArithmeticKind::Bigfixed9));
        let Command::Meek(meek) = arguments.command else { panic!("meek was said") };
        assert_eq!((meek.omega_exponent, meek.parallel, meek.num_threads), (6, Parallel::Pool, None));
        assert_eq!(meek.pinning, None);
        assert!(!meek.force_positive_surplus);
    }
}
