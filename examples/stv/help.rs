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
  with any number of threads.

  JSON, CSV and the page are made from a record of at most a gigabyte. Use
  --record changes for elections of thousands of candidates.

  Candidates with the same text also have their number: Ann Li [3].

  Standard error, JSON and the page give the reason of each tie.

  --trace takes a ballot in numbers as in a ballot file (\"3 1=2\": the third
  candidate, then the first two as equals; a - is a rank left out) or in names
  (\"Cleo > Ada = Bert\"), with or without the party.

  examples/stv/README.md describes the count, the ties and the checks of every
  distribution, and examples/stv/page/README.md every field.

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

`stv --help` describes the exit codes.";
