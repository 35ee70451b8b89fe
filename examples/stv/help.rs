//! The text of `--help` after the options.

/// The text after the options of `stv`.
pub(crate) const STV: &str = "\
Examples:
  stv meek ward.blt
          Count a ballot file and write the transcript
  stv meek --arithmetic fixed9 < ward.blt > ward.log
          Count from standard input, in 64-bit numbers
  stv meek ward.blt --html ward.html
          Write the transcript, and a page with pictures
  stv verify ward.json ward.blt
          Repeat the count of a JSON result, and compare
  stv page ward.json > ward.html
          Write the page of a JSON result
  stv meek --help
          Everything about counting and its outputs

Exit codes:
  0  Counted; or the reader of the output stopped early, as `head` does
  1  The input cannot be read, the election cannot be counted, an output
     cannot be written, or a result is not verified; a line on standard error
     gives the reason, and an option that helps
  2  The command line is wrong

Environment:
  RUST_LOG  The least level of messages on standard error: error, warn (the
            default), info, debug
  RANGESTEAL_NUM_THREADS
            Number of threads of `--parallel pool`, unless --num-threads is given";

/// The text after the options of `stv meek`.
pub(crate) const MEEK: &str = "\
Outputs:
  The transcript appears during the count. JSON, CSV and the page are written
  when the count is complete. A failed count leaves none of them. The page
  rounds its numbers. All other numbers are exact, with all decimals of the
  arithmetic. The same input and options give the same bytes on every machine,
  with any number of threads. examples/stv/page/README.md describes every
  field.

  On a terminal, three plain lines end the transcript: who is elected, in which
  order, and of how many ballots. --summary always writes them to a file, too.

  A count of more than a second shows a progress bar if standard error is a
  terminal.

  JSON, CSV and the page are made from a record of at most a gigabyte. With
  --record changes, each step has only the candidates whose state has changed.
  Use it for elections of thousands of candidates.

Names and parties:
  If the file has the party of a candidate, every output shows it: Ann Li (Red).
  If a line has both name and party and no fact shows their order, the file is
  refused with both readings. Give the order with --names. Candidates with the
  same text also have their number: Ann Li [3].

Ties:
  If several candidates have the fewest votes, one of them is defeated:
  --tie order        the first one in [tie …] of the file, or on the ballot paper
  --tie backwards    the one with the fewest votes in the last round in which
                     they differ; if they never differ, as with order
  --tie random:SEED  the first one in an order drawn from SEED
                     (examples/stv/README.md describes the draw)
  Standard error, JSON and the page give the reason of each tie. The transcript
  gives it with --explain-ties. If ballot-paper order decides a tie, there is a
  warning, unless --tie order is given. --strict turns all warnings into errors.

Audit:
  After every distribution, the sum of votes and residual is compared with the
  number of ballots. If they differ, the count ends with exit code 1.

  A JSON result has the options of its count and the hash of its ballot file.
  `stv verify` repeats the count and compares.

  --trace follows one ballot. Give its contents in numbers as in a ballot file
  (\"3 1=2\": the third candidate, then the first two as equals) or in names
  (\"Cleo > Ada = Bert\"), with or without the party. A - is a rank left out, as
  in a ballot file. Nicknames are not accepted. After every round, the trace
  shows the part of the ballot that each candidate has, and the exhausted part.

Examples:
  stv meek ward.blt --strict --tie random:20261123
          Accept no warnings, and draw an order for ties
  stv meek ward.blt --format json > ward.json
          Write every action of the count for other programs
  stv meek ward.blt --format csv --html ward.html > ward.csv
          Write a table for a spreadsheet, and a page
  stv meek ward.blt --trace \"Cleo > Ada\"
          Follow a ballot for Cleo, then Ada
  stv meek ward.blt --parallel no
          Count on one thread; the transcript is the same

Exit codes:
  0 counted; 1 cannot be read, counted or written; 2 wrong command line.
  `stv --help` describes them.";
