use super::phrase;

#[test]
fn short_says_where_it_cut() {
    assert_eq!(phrase::short("a  b\nc", 10), "a b c");
    assert_eq!(phrase::short("磁盘已经满了", 3), "磁盘已…");
}
