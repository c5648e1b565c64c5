/// Scales a vector to length one. `None`: it has no direction (all zero) or a value that is not finite.
pub(crate) fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    // Wide, so that the squares of large values stay finite.
    let norm = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if !norm.is_finite() || norm < 1e-12 {
        return None;
    }
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_or_refuses() {
        assert_eq!(unit(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        assert_eq!(unit(vec![f32::MAX, 0.0]), Some(vec![1.0, 0.0]));
        assert_eq!(unit(vec![0.0, 0.0]), None);
        assert_eq!(unit(vec![f32::NAN, 1.0]), None);
        assert_eq!(unit(vec![f32::INFINITY, 1.0]), None);
    }
}
