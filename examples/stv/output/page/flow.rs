//! The flow of votes: a lane for each candidate, and at every transfer ribbons from whoever gave to
//! those who received.
//!
//! A long count is cut into panels, each with the lanes that still matter, so that none is wider
//! than a page.

use super::{
    bars::count,
    number::{escaped, fitted, shown, value},
    order,
};
use crate::{
    election::CandidateIndex,
    output::record::{Cause, Record, Transfer},
};
use std::{borrow::Cow, fmt::Write};

/// Where things stand in a picture of some width.
struct Frame {
    class: &'static str,
    width: f64,
    names: f64,
    /// The least distance of two columns.
    column: f64,
    /// How thick all ballots together are.
    thickness: f64,
}

const WIDE: Frame = Frame { class: "wide", width: 940.0, names: 170.0, column: 74.0, thickness: 440.0 };
const NARROW: Frame = Frame { class: "narrow", width: 350.0, names: 112.0, column: 46.0, thickness: 260.0 };
const TOP: f64 = 40.0;
const LANE: f64 = 14.0;
const GAP: f64 = 5.0;
const NODE: f64 = 6.0;
/// What is thinner is not there: the rest of a rounding.
const SEEN: f64 = 0.02;

/// Transfers of less than this share of the ballots would be thinner than a hair.
pub(super) const LEAST: f64 = 0.001;

/// A transfer as it is drawn: how many votes every place has afterwards. The last place is for the
/// exhausted.
struct Move<'a> {
    transfer: &'a Transfer,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// The transfers that can be seen, and how many cannot.
fn moves(record: &Record) -> (Vec<Move<'_>>, usize) {
    let Some(begin) = record.steps.first() else { return (Vec::new(), 0) };
    let mut votes: Vec<f64> = begin.states.iter().map(|state| value(&state.votes)).collect();
    votes.push(value(&begin.residual));
    let least = value(&record.ballots) * LEAST;
    let (mut moves, mut hidden) = (Vec::new(), 0);
    for transfer in record.transfers.iter().filter(|transfer| transfer.cause != Cause::NoSeatLeft) {
        let before = votes.clone();
        for (candidate, change) in &transfer.changes {
            votes[*candidate] = (votes[*candidate] + value(change)).max(0.0);
        }
        let exhausted = votes.len() - 1;
        votes[exhausted] = (votes[exhausted] + value(&transfer.exhausted)).max(0.0);
        let moved: f64 = before.iter().zip(&votes).map(|(before, after)| (after - before).max(0.0)).sum();
        if moved < least {
            hidden += 1;
        } else {
            moves.push(Move { transfer, before, after: votes.clone() });
        }
    }
    (moves, hidden)
}

/// Draws all panels; the result is how many transfers are too small to be drawn, or nothing if none
/// can be.
pub(super) fn draw(record: &Record, order: &[CandidateIndex], out: &mut String) -> Option<usize> {
    let (moves, hidden) = moves(record);
    // The exhausted flow past everybody, at the bottom.
    let places: Vec<_> = order.iter().copied().chain([record.candidates.len()]).collect();
    for frame in [WIDE, NARROW] {
        frame.draw(record, &places, &moves, out);
    }
    (!moves.is_empty()).then_some(hidden)
}

impl Frame {
    fn draw(&self, record: &Record, places: &[usize], moves: &[Move<'_>], out: &mut String) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few columns")]
        let columns = ((self.width - self.names - NODE) / self.column) as usize;
        // Panels of about the same length: none of a single column after many full ones.
        let panels = moves.len().div_ceil(columns).max(1);
        for part in moves.chunks(moves.len().div_ceil(panels).max(1)) {
            let scale = self.thickness / value(&record.ballots);
            let panel = Panel::new(self, record, places, part, scale);
            panel.draw(out);
        }
    }
}

struct Panel<'a> {
    frame: &'a Frame,
    record: &'a Record,
    moves: &'a [Move<'a>],
    /// The places that have votes in this panel, from top to bottom, each with the middle of its
    /// lane.
    lanes: Vec<(usize, f64)>,
    height: f64,
    column: f64,
    scale: f64,
}

impl<'a> Panel<'a> {
    fn new(
        frame: &'a Frame,
        record: &'a Record,
        places: &[usize],
        moves: &'a [Move<'a>],
        scale: f64,
    ) -> Self {
        let mut lanes = Vec::new();
        let mut y = TOP;
        for &place in places {
            let states = moves.iter().flat_map(|step| [step.before[place], step.after[place]]);
            let most = states.fold(0.0, f64::max);
            if most * scale > SEEN {
                let lane = (most * scale).max(LANE);
                lanes.push((place, y + lane / 2.0));
                y += lane + GAP;
            }
        }
        // Few transfers do not fill the width: ribbons that are longer than twice the least say no
        // more.
        let room = frame.width - frame.names - NODE;
        let column = (room / count(moves.len())).min(frame.column * 2.2);
        Self { frame, record, moves, lanes, height: y + 4.0, column, scale }
    }

    fn x(&self, column: usize) -> f64 {
        self.frame.names + self.column * count(column)
    }

    fn name(&self, place: usize) -> Cow<'_, str> {
        if place < self.record.candidates.len() {
            order::name(self.record, place)
        } else {
            Cow::from("Exhausted")
        }
    }

    fn class(&self, place: usize) -> String {
        if place < self.record.candidates.len() { format!("k{place}") } else { "kx".to_owned() }
    }

    fn draw(&self, out: &mut String) {
        let _ = write!(
            out,
            "<svg class=\"{}\" viewBox=\"0 0 {} {:.0}\" role=\"img\" aria-label=\"Flow of votes between candidates\">",
            self.frame.class, self.frame.width, self.height
        );
        for &(place, y) in &self.lanes {
            let elected = self.record.elected.contains(&place);
            let class = if elected { "end strong" } else { "end" };
            let label = self.frame.names - 8.0;
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{label:.0}\" y=\"{:.1}\">{}</text>",
                y + 4.0,
                fitted(&self.name(place), label, if elected { 8.4 } else { 7.0 })
            );
        }
        let mut round = 0;
        for (column, step) in self.moves.iter().enumerate() {
            self.heading(column, step.transfer, &mut round, out);
            self.gap(column, step, out);
        }
        for column in 0..=self.moves.len() {
            let state = match self.moves.get(column) {
                Some(step) => &step.before,
                None => &self.moves[column - 1].after,
            };
            for &(place, y) in &self.lanes {
                let thickness = state[place] * self.scale;
                if thickness > SEEN {
                    let _ = write!(
                        out,
                        "<rect class=\"f {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{NODE}\" height=\"{:.1}\"><title>{}: {}</title></rect>",
                        self.class(place),
                        self.x(column),
                        y - thickness / 2.0,
                        thickness.max(0.6),
                        escaped(&self.name(place)),
                        shown(state[place])
                    );
                }
            }
        }
        out.push_str("</svg>");
    }

    /// Round and cause above the ribbons.
    fn heading(&self, column: usize, transfer: &Transfer, round: &mut usize, out: &mut String) {
        let middle = self.x(column) + f64::midpoint(self.column, NODE);
        let wide = self.column > 60.0;
        if *round != transfer.round {
            *round = transfer.round;
            let word = if wide { "Round " } else { "" };
            let _ = write!(out, "<text class=\"mid strong\" x=\"{middle:.1}\" y=\"12\">{word}{round}</text>");
        }
        let cause = match (transfer.cause, transfer.from.first()) {
            (Cause::Defeat, Some(&candidate)) if wide => {
                fitted(&format!("✕ {}", self.name(candidate)), self.column + 6.0, 6.1)
            }
            (Cause::Defeat | Cause::NoSeatLeft, _) => "defeat".to_owned(),
            (Cause::Surplus, _) => "surplus".to_owned(),
        };
        let _ = write!(out, "<text class=\"soft mid\" x=\"{middle:.1}\" y=\"26\">{cause}</text>");
    }

    /// Everything between two columns: what stays in its lane, and what moves.
    fn gap(&self, column: usize, step: &Move<'_>, out: &mut String) {
        let (left, right) = (self.x(column) + NODE, self.x(column + 1));
        let mut flows = Flows::new(self, step);
        for (lane, &(place, _)) in self.lanes.iter().enumerate() {
            let kept = step.before[place].min(step.after[place]) * self.scale;
            if kept > SEEN {
                let (from, to) = (flows.stays(lane, true), flows.stays(lane, false));
                ribbon((left, from), (right, to), kept, &format!("s {}", self.class(place)), "", out);
            }
        }
        let heading = format!("Round {}: ", step.transfer.round);
        if let [giver] = flows.givers[..]
            && step.transfer.from.len() == 1
        {
            for receiver in flows.receivers.clone() {
                let thickness = flows.amount(receiver) * self.scale;
                let (from, to) = (flows.leave(giver, receiver), flows.arrive(receiver, giver));
                let votes = shown(flows.amount(receiver));
                let [source, target] = [giver, receiver].map(|lane| self.name(self.lanes[lane].0));
                let title = format!("{heading}{votes} from {source} to {target}");
                let class = format!("r {}", self.class(self.lanes[receiver].0));
                ribbon((left, from), (right, to), thickness, &class, &title, out);
            }
            return;
        }
        self.through_gate(&mut flows, (left, right), &heading, out);
    }

    /// Several have given at once: who lost and who gained is known, who gave to whom is not. All
    /// of it passes one gate.
    fn through_gate(&self, flows: &mut Flows, (left, right): (f64, f64), heading: &str, out: &mut String) {
        let total: f64 = flows.receivers.iter().map(|&lane| flows.amount(lane)).sum();
        let ends = flows.givers.iter().chain(&flows.receivers);
        let weighted: f64 = ends.map(|&lane| self.lanes[lane].1 * flows.amount(lane)).sum();
        let height = total * self.scale;
        let y = weighted / (2.0 * total);
        let middle = f64::midpoint(left, right);
        let gate = (y - height / 2.0).max(TOP);
        let (mut entrance, mut exit) = (gate, gate);
        for lane in flows.givers.clone() {
            let thickness = flows.amount(lane) * self.scale;
            let place = self.lanes[lane].0;
            let title = format!("{heading}{} net from {}", shown(flows.amount(lane)), self.name(place));
            let from = flows.leave_towards(lane, y);
            ribbon(
                (left, from),
                (middle, entrance),
                thickness,
                &format!("r {}", self.class(place)),
                &title,
                out,
            );
            entrance += thickness;
        }
        for lane in flows.receivers.clone() {
            let thickness = flows.amount(lane) * self.scale;
            let place = self.lanes[lane].0;
            let title = format!("{heading}{} net to {}", shown(flows.amount(lane)), self.name(place));
            let to = flows.arrive_from(lane, y);
            ribbon((middle, exit), (right, to), thickness, &format!("r {}", self.class(place)), &title, out);
            exit += thickness;
        }
        let _ = write!(
            out,
            "<rect class=\"gate\" x=\"{:.1}\" y=\"{:.1}\" width=\"3\" height=\"{:.1}\" rx=\"1.5\"/>",
            middle - 1.5,
            gate - 1.5,
            height + 3.0
        );
    }
}

/// The lanes that give and receive in one transfer, and how far the sides of their nodes are taken
/// already.
struct Flows {
    givers: Vec<usize>,
    receivers: Vec<usize>,
    amounts: Vec<f64>,
    middles: Vec<f64>,
    scale: f64,
    /// The tops of the nodes, left and right of the gap.
    left: Vec<f64>,
    right: Vec<f64>,
    /// What is taken at the upper and the lower end of the side where ribbons leave or arrive; the
    /// rest in between stays.
    upper: Vec<f64>,
    lower: Vec<f64>,
    heights: Vec<(f64, f64)>,
}

impl Flows {
    fn new(panel: &Panel<'_>, step: &Move<'_>) -> Self {
        let lanes = &panel.lanes;
        let change = |&(place, _): &(usize, f64)| step.after[place] - step.before[place];
        let changes: Vec<f64> = lanes.iter().map(change).collect();
        let seen = |change: f64| change.abs() * panel.scale > SEEN;
        let givers: Vec<_> =
            (0..lanes.len()).filter(|&lane| changes[lane] < 0.0 && seen(changes[lane])).collect();
        let receivers = (0..lanes.len()).filter(|&lane| changes[lane] > 0.0 && seen(changes[lane])).collect();
        let heights: Vec<_> = lanes
            .iter()
            .map(|&(place, _)| (step.before[place] * panel.scale, step.after[place] * panel.scale))
            .collect();
        let top = |(lane, height): (usize, f64)| lanes[lane].1 - height / 2.0;
        let mut flows = Self {
            givers,
            receivers,
            amounts: changes.iter().map(|change| change.abs()).collect(),
            middles: lanes.iter().map(|lane| lane.1).collect(),
            scale: panel.scale,
            left: heights.iter().map(|height| height.0).enumerate().map(top).collect(),
            right: heights.iter().map(|height| height.1).enumerate().map(top).collect(),
            upper: vec![0.0; lanes.len()],
            lower: vec![0.0; lanes.len()],
            heights,
        };
        flows.reserve(step.transfer.from.len());
        flows
    }

    /// How much of a giver's flow leaves upwards decides where the rest, which stays, begins.
    fn reserve(&mut self, from: usize) {
        if let ([giver], 1) = (&self.givers[..], from) {
            let above = self.receivers.iter().filter(|lane| *lane < giver);
            self.upper[*giver] = above.map(|&lane| self.amounts[lane] * self.scale).sum();
            for &lane in &self.receivers {
                if lane > *giver {
                    self.upper[lane] = self.amounts[lane] * self.scale;
                }
            }
            return;
        }
        let ends = self.givers.iter().chain(&self.receivers);
        let (mut weighted, mut total) = (0.0, 0.0);
        for &lane in ends {
            weighted += self.middles[lane] * self.amounts[lane];
            total += self.amounts[lane];
        }
        for &lane in self.givers.iter().chain(&self.receivers) {
            if weighted / total < self.middles[lane] {
                self.upper[lane] = self.amounts[lane] * self.scale;
            }
        }
    }

    fn amount(&self, lane: usize) -> f64 {
        self.amounts[lane]
    }

    /// Where what stays in the lane begins, at its left or right node.
    fn stays(&self, lane: usize, at_left: bool) -> f64 {
        let (before, after) = self.heights[lane];
        let gives = before > after;
        match (at_left, gives) {
            (true, true) => self.left[lane] + self.upper[lane],
            (true, false) => self.left[lane],
            (false, true) => self.right[lane],
            (false, false) => self.right[lane] + self.upper[lane],
        }
    }

    /// Where the ribbon to a receiver leaves the one giver: upwards above what stays, downwards
    /// below it, in the order of the lanes.
    fn leave(&mut self, giver: usize, receiver: usize) -> f64 {
        let (before, after) = self.heights[giver];
        let kept = before.min(after);
        let start = self.left[giver] + self.lower[giver] + if receiver > giver { kept } else { 0.0 };
        self.lower[giver] += self.amounts[receiver] * self.scale;
        start
    }

    fn arrive(&self, receiver: usize, giver: usize) -> f64 {
        if receiver > giver { self.right[receiver] } else { self.right[receiver] + self.heights[receiver].0 }
    }

    fn leave_towards(&self, giver: usize, y: f64) -> f64 {
        if y < self.middles[giver] { self.left[giver] } else { self.left[giver] + self.heights[giver].1 }
    }

    fn arrive_from(&self, receiver: usize, y: f64) -> f64 {
        if y < self.middles[receiver] {
            self.right[receiver]
        } else {
            self.right[receiver] + self.heights[receiver].0
        }
    }
}

/// A band of this thickness between two points, which are its upper corners.
fn ribbon(
    (x0, y0): (f64, f64),
    (x1, y1): (f64, f64),
    thickness: f64,
    class: &str,
    title: &str,
    out: &mut String,
) {
    let middle = f64::midpoint(x0, x1);
    let thickness = thickness.max(0.4);
    let (below0, below1) = (y0 + thickness, y1 + thickness);
    let _ = write!(
        out,
        "<path class=\"{class}\" d=\"M{x0:.1} {y0:.1}C{middle:.1} {y0:.1} {middle:.1} {y1:.1} {x1:.1} {y1:.1}V{below1:.1}C{middle:.1} {below1:.1} {middle:.1} {below0:.1} {x0:.1} {below0:.1}Z\""
    );
    if title.is_empty() {
        out.push_str("/>");
    } else {
        let _ = write!(out, "><title>{}</title></path>", escaped(title));
    }
}
