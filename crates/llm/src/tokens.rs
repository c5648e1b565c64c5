use hindsight_ports::{LlmRequest, LlmUsage};
use hindsight_text::is_cjk;

use crate::Prices;

/// About how many tokens a text has: one for a Chinese character, one for three other characters. Real
/// vocabularies need fewer for prose and about as many for identifiers and logs, so this errs upwards.
pub(crate) fn estimate(text: &str) -> u64 {
    let (mut cjk, mut other) = (0_u64, 0_u64);
    for c in text.chars() {
        if is_cjk(c) { cjk += 1 } else { other += 1 }
    }
    cjk + other.div_ceil(3)
}

/// What the input of a request may take.
pub(crate) fn estimate_input(request: &LlmRequest) -> u64 {
    let schema = request.schema.as_ref().map_or(0, |s| estimate(&s.schema.to_string()));
    estimate(&request.system) + estimate(&request.user) + schema
}

/// A price per million tokens is a price per token in millionths.
pub(crate) fn usage(input_tokens: u64, output_tokens: u64, prices: Prices) -> LlmUsage {
    let cost = input_tokens as f64 * prices.input + output_tokens as f64 * prices.output;
    LlmUsage { input_tokens, output_tokens, cost_micros: cost.round() as u64 }
}

#[cfg(test)]
pub(crate) mod tests {
    use hindsight_types::TenantId;

    use super::*;

    pub(crate) fn request(system: &str, user: &str) -> LlmRequest {
        LlmRequest {
            tenant: TenantId::new("acme").unwrap(),
            system: system.to_owned(),
            user: user.to_owned(),
            schema: None,
            max_output_tokens: 100,
            temperature: 0.0,
            seed: None,
        }
    }

    #[test]
    fn counts_both_scripts() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("abcdef"), 2);
        assert_eq!(estimate("磁盘满了"), 4);
        assert_eq!(estimate_input(&request("磁盘", "abc")), 3);
    }

    #[test]
    fn costs_are_millionths() {
        let prices = Prices { input: 0.15, output: 0.60 };
        assert_eq!(usage(1_000, 100, prices).cost_micros, 210);
        assert_eq!(usage(1_000, 100, Prices::default()).cost_micros, 0);
        let dear = Prices { input: f64::MAX, output: 0.0 };
        assert_eq!(usage(u64::MAX, 0, dear).cost_micros, u64::MAX);
    }
}
