use hindsight_proto::common::v1::FeedbackVerdict as Said;

use super::*;

fn request(change: impl Fn(&mut ReportOutcomeRequest)) -> Result<Report, Invalid> {
    let item = ReportedItem { memory_id: MemoryId(uuid(1)).to_string(), verdict: Said::Helpful as i32 };
    let mut request = ReportOutcomeRequest {
        receipt_id: ReceiptId(uuid(9)).to_string(),
        items: vec![item],
        ..ReportOutcomeRequest::default()
    };
    change(&mut request);
    Report::new(request)
}

fn uuid(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}

fn fields(result: Result<Report, Invalid>) -> Vec<String> {
    result.unwrap_err().fields.into_iter().map(|f| f.field).collect()
}

#[test]
fn everything_wrong_is_named_at_once() {
    let wrong = request(|r| {
        r.receipt_id = "x".to_owned();
        r.trace_id = "a\nb".to_owned();
        r.outcome = 99;
        r.note = "好".repeat(2_000);
        r.items.push(r.items[0].clone());
        r.items.push(ReportedItem { memory_id: "y".to_owned(), verdict: 0 });
    });
    assert_eq!(
        fields(wrong),
        [
            "receipt_id",
            "trace_id",
            "outcome",
            "items[1].memory_id",
            "items[2].memory_id",
            "items[2].verdict",
            "note"
        ]
    );
}

#[test]
fn at_least_one_memory_and_at_most_ten() {
    assert_eq!(fields(request(|r| r.items.clear())), ["items"]);
    assert_eq!(fields(request(|r| r.items = vec![ReportedItem::default(); 11])), ["items"]);
    assert!(request(|_| ()).is_ok());
}
