//! The space between two columns of the flow: the votes that stay, and ribbons for the votes that
//! move.

use super::{Lane, Move, NODE, Panel, SEEN};
use crate::{number::shown, text::apart};
use std::fmt::Write;

/// A band thinner than this is drawn as a line.
const HAIR: f64 = 0.6;
/// A band looks straight if its ends differ in height by less than this.
const STRAIGHT: f64 = 0.4;

impl Panel<'_> {
    /// Draws everything between two columns. Adds unmoved votes to the paths of their lanes
    /// (`stays`), and ribbons of moved votes to `out`.
    pub(super) fn gap(&self, column: usize, step: &Move<'_>, stays: &mut [String], out: &mut String) {
        let (left, right) = (self.x(column) + NODE, self.x(column + 1));
        let mut flows = Flows::new(self, step);
        for (lane, &Lane { place, .. }) in self.lanes.iter().enumerate() {
            let kept = step.before[place].min(step.after[place]) * self.scale;
            if kept > SEEN {
                let (from, to) = (flows.stays(lane, true), flows.stays(lane, false));
                band((left, from), (right, to), kept, &mut stays[lane]);
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
                let [source, target] =
                    [giver, receiver].map(|lane| apart(&self.name(self.lanes[lane].place)));
                let title = format!("{heading}{votes} from {source} to {target}");
                let colour = self.colour(self.lanes[receiver].place);
                self.ribbon((left, from), (right, to), thickness, (colour, &title), out);
            }
            return;
        }
        self.through_gate(&flows, (left, right), &heading, out);
    }

    /// Draws a transfer from several givers. The losses and gains of the candidates are known, but
    /// not the receiver of each loss. So all votes pass one gate.
    fn through_gate(&self, flows: &Flows, (left, right): (f64, f64), heading: &str, out: &mut String) {
        let total: f64 = flows.receivers.iter().map(|&lane| flows.amount(lane)).sum();
        let ends = flows.givers.iter().chain(&flows.receivers);
        let weighted: f64 = ends.map(|&lane| self.lanes[lane].middle * flows.amount(lane)).sum();
        let height = total * self.scale;
        let y = weighted / (2.0 * total);
        let middle = f64::midpoint(left, right);
        let gate = (y - height / 2.0).max(self.top);
        for (lanes, gives) in [(&flows.givers, true), (&flows.receivers, false)] {
            let mut inside = gate;
            for &lane in lanes {
                let thickness = flows.amount(lane) * self.scale;
                let place = self.lanes[lane].place;
                let (votes, name) = (shown(flows.amount(lane)), apart(&self.name(place)));
                let direction = if gives { "from" } else { "to" };
                let title = format!("{heading}{votes} net {direction} {name}");
                let (from, to) = if gives {
                    ((left, flows.leave_towards(lane, y)), (middle, inside))
                } else {
                    ((middle, inside), (right, flows.arrive_from(lane, y)))
                };
                self.ribbon(from, to, thickness, (self.colour(place), &title), out);
                inside += thickness;
            }
        }
        let _ = write!(
            out,
            "<rect class=\"gate\" x=\"{:.1}\" y=\"{:.1}\" width=\"3\" height=\"{:.1}\" rx=\"1.5\"/>",
            middle - 1.5,
            gate - 1.5,
            height + 3.0
        );
    }

    /// Draws votes that moved, in a colour. The tip is already escaped. The narrow picture has no
    /// tips: the ribbons are too thin for a finger, and the tips would be a fifth of the page.
    fn ribbon(
        &self,
        (x0, y0): (f64, f64),
        (x1, y1): (f64, f64),
        thickness: f64,
        (colour, title): (&str, &str),
        out: &mut String,
    ) {
        if thickness < HAIR {
            let (middle, y0, y1) = (f64::midpoint(x0, x1), y0 + thickness / 2.0, y1 + thickness / 2.0);
            let _ = write!(
                out,
                "<path class=\"l {colour}\" d=\"M{x0:.1} {y0:.1}C{middle:.1} {y0:.1} {middle:.1} {y1:.1} {x1:.1} {y1:.1}"
            );
        } else {
            let _ = write!(out, "<path class=\"r {colour}\" d=\"");
            band((x0, y0), (x1, y1), thickness, out);
        }
        let _ = if self.frame.has_tips {
            write!(out, "\"><title>{title}</title></path>")
        } else {
            write!(out, "\"/>")
        };
    }
}

/// The lanes that give or receive votes in one transfer, and the parts of their nodes that ribbons
/// already use.
struct Flows {
    givers: Vec<usize>,
    receivers: Vec<usize>,
    amounts: Vec<f64>,
    middles: Vec<f64>,
    scale: f64,
    /// The tops of the nodes, left and right of the gap.
    left: Vec<f64>,
    right: Vec<f64>,
    /// The heights of the ribbons at the upper and the lower end of a lane's side. The votes that
    /// stay are between them.
    upper: Vec<f64>,
    lower: Vec<f64>,
    heights: Vec<(f64, f64)>,
}

impl Flows {
    fn new(panel: &Panel<'_>, step: &Move<'_>) -> Self {
        let lanes = &panel.lanes;
        let change = |&Lane { place, .. }: &Lane| step.after[place] - step.before[place];
        let changes: Vec<f64> = lanes.iter().map(change).collect();
        let seen = |change: f64| change.abs() * panel.scale > SEEN;
        let givers: Vec<_> =
            (0..lanes.len()).filter(|&lane| changes[lane] < 0.0 && seen(changes[lane])).collect();
        let receivers = (0..lanes.len()).filter(|&lane| changes[lane] > 0.0 && seen(changes[lane])).collect();
        let heights: Vec<_> = lanes
            .iter()
            .map(|&Lane { place, .. }| (step.before[place] * panel.scale, step.after[place] * panel.scale))
            .collect();
        let top = |(lane, height): (usize, f64)| lanes[lane].middle - height / 2.0;
        let mut flows = Self {
            givers,
            receivers,
            amounts: changes.iter().map(|change| change.abs()).collect(),
            middles: lanes.iter().map(|lane| lane.middle).collect(),
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

    /// Sets the upper heights, which decide where the votes that stay begin.
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

    /// The top of the votes that stay in the lane, at its left or right node.
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

    /// Returns the top of the ribbon to a receiver, at the node of the single giver. At this node,
    /// ribbons that go up are above the unmoved votes, and ribbons that go down are below them. All
    /// ribbons are in the order of the lanes.
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

/// A band of this thickness. The points are its upper corners.
fn band((x0, y0): (f64, f64), (x1, y1): (f64, f64), thickness: f64, path: &mut String) {
    let (below0, below1) = (y0 + thickness, y1 + thickness);
    let _ = if (y1 - y0).abs() < STRAIGHT {
        write!(path, "M{x0:.1} {y0:.1}H{x1:.1}V{below0:.1}H{x0:.1}Z")
    } else {
        let middle = f64::midpoint(x0, x1);
        write!(
            path,
            "M{x0:.1} {y0:.1}C{middle:.1} {y0:.1} {middle:.1} {y1:.1} {x1:.1} {y1:.1}V{below1:.1}C{middle:.1} {below1:.1} {middle:.1} {below0:.1} {x0:.1} {below0:.1}Z"
        )
    };
}
