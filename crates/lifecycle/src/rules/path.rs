//! What several runs did alike, in order.

use super::Outline;

/// Whether the runs share enough to tell: something that all of them changed, or two steps.
pub(super) fn is_worth_telling(runs: &[&Outline]) -> bool {
    let paths: Vec<&[String]> = runs.iter().map(|run| run.path.as_slice()).collect();
    let common = common(&paths);
    let changes = runs.first().is_some_and(|run| !run.changes.is_empty());
    if changes { !common.is_empty() } else { common.len() >= 2 }
}

/// For each thing that all did, in the order in which all did it, where each of them did it: the longest common
/// subsequence of the first two, of that and the third, and so on.
pub(super) fn common(paths: &[&[String]]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = paths.split_first() else { return Vec::new() };
    let mut places: Vec<Vec<usize>> = (0..first.len()).map(|at| vec![at]).collect();
    let mut shared: Vec<&String> = first.iter().collect();
    for path in rest {
        let path: Vec<&String> = path.iter().collect();
        let matched = longest(&shared, &path);
        places = matched
            .iter()
            .map(|(mine, theirs)| {
                let mut at = places[*mine].clone();
                at.push(*theirs);
                at
            })
            .collect();
        shared = matched.iter().map(|(mine, _)| shared[*mine]).collect();
    }
    places
}

/// Longest common subsequence, as pairs of places; of several the one that begins earliest.
pub(super) fn longest<T: PartialEq>(a: &[T], b: &[T]) -> Vec<(usize, usize)> {
    let mut length = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i][j] = match a[i] == b[j] {
                true => length[i + 1][j + 1] + 1,
                false => length[i + 1][j].max(length[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if length[i + 1][j] >= length[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
