use std::time::Duration;

use hindsight_ports::PageRequest;
use hindsight_types::Invalid;
use tonic::Request;

pub const DEFAULT_PAGE_SIZE: usize = 50;
pub const MAX_PAGE_SIZE: usize = 500;

/// Longest page token that any service hands out, in bytes.
const TOKEN_BYTES: usize = 4096;

/// The page a list request asks for: size 0 means 50, more than 500 is read as 500 (AIP-158).
pub fn page(page_size: i32, page_token: String) -> Result<PageRequest, Invalid> {
    let size = usize::try_from(page_size).map_err(|_| {
        Invalid::new("page_size", format!("is {page_size}; give 0 for the default of 50, or 1 to 500"))
    })?;
    if page_token.len() > TOKEN_BYTES {
        let problem = "is longer than any token handed out; pass `next_page_token` as it was received";
        return Err(Invalid::new("page_token", problem));
    }
    let size = if size == 0 { DEFAULT_PAGE_SIZE } else { size.min(MAX_PAGE_SIZE) };
    Ok(PageRequest { size, token: page_token })
}

/// How long the caller waits for the answer, from its `grpc-timeout` header. `None`: for ever, or the
/// header is not one (gRPC over HTTP/2: at most 8 digits and a unit).
pub fn deadline<T>(request: &Request<T>) -> Option<Duration> {
    let text = request.metadata().get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(n * 3600),
        "M" => Duration::from_secs(n * 60),
        "S" => Duration::from_secs(n),
        "m" => Duration::from_millis(n),
        "u" => Duration::from_micros(n),
        "n" => Duration::from_nanos(n),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
