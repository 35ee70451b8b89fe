//! The text of `--help` behind the options.

/// The text after the options of `stv`.
pub(crate) const STV: &str = "\
Examples:
  stv meek ward.blt
          Count a ballot file and write the transcript
  stv meek --arithmetic fixed9 < ward.blt > ward.log
          The same from standard input, in 64-bit numbers
  stv meek ward.blt --html ward.html
          A page with pictures beside the transcript
  stv generate --kind uniform --ballots 100000 | stv meek --format json
          Count a synthetic election
  stv verify ward.json ward.blt
          Count again what a JSON result says, and compare
  stv meek --help
          Everything about counting and its outputs

Exit codes:
  0  Counted, or whoever read the output had seen enough
  1  The input cannot be read, the election cannot be counted, an output
     cannot be written, or a result is not verified; a line on standard error
     says why, and what helps
  2  The command line is wrong

Environment:
  RUST_LOG  Which messages appear on standard error: error, warn (the default),
            info, debug
  RANGESTEAL_NUM_THREADS
            How many threads `--parallel pool` has, unless --num-threads says so";

/// The text after the options of `stv meek`.
pub(crate) const MEEK: &str = "\
Outputs:
  The transcript appears as the count goes on. JSON, CSV and the page are
  written when the count is complete; a count that fails leaves none of them.
  All numbers but the page's are exact: as many decimals as the arithmetic
  has. The same input and options give the same bytes on every machine, with
  any number of threads. examples/stv/README.md describes every field.

  A count of more than a second shows a progress bar if standard error is a
  terminal.

Names and parties:
  Where the file says the party of a candidate, every output does: Ann Li (Red).
  If it has both on a line and nothing shows which is which, it is refused with
  both readings: --names says what is so. Who would be called the same as another
  has the number, too: Ann Li [3].
  JSON, CSV and the page are made from a record of at most a gigabyte. For
  elections of thousands of candidates, --record changes shows at each step
  only who is not as at the step before.

Ties:
  Of several with the fewest votes, --tie order defeats the first in [tie …] of
  the file, or on the ballot paper; backwards who had fewer votes in the last
  round in which they differ, then order; random:SEED the first in an order
  that is drawn from SEED, as examples/stv/README.md says. Standard error, JSON
  and page tell by what each tie was decided; the transcript with
  --explain-ties. Ballot-paper order is warned of, unless --tie order asks
  for it. --strict makes errors of all warnings.

Audit:
  After every distribution, votes and residual are compared with the number of
  ballots; a count where they differ ends with exit code 1.

  A JSON result says how it was counted, and of which file: `stv verify` counts
  again and compares.

  --trace follows one ballot. It is given by what it says, in numbers as in a
  ballot file (\"3 1=2\": the third candidate, then the first two as equals) or
  in names (\"Cleo > Ada = Bert\"). A - is a rank left out, as in a ballot file;
  nicknames are not known here, and a name stands with its party or without. After every round it shows which part of the
  ballot is with whom, and which is exhausted.

Examples:
  stv meek ward.blt --strict --tie random:20261123
          No warnings, and lots for ties
  stv meek ward.blt --format json > ward.json
          Every action of the count, for other programs
  stv meek ward.blt --format csv --html ward.html > ward.csv
          For a spreadsheet, and a page beside it
  stv meek ward.blt --trace \"Cleo > Ada\"
          Where a ballot for Cleo, then Ada, ends up
  stv meek ward.blt --parallel no
          On one thread; the transcript is the same

Exit codes:
  0 counted, 1 cannot be read, counted or written, 2 wrong command line: see `stv --help`";
