//! The identity of a node.

crate::id! {
    /// One incarnation of a node. The world draws the key at random; it is never 0 and never used
    /// again. A node that is restarted has a new key.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct NodeKey(u64) as "k";
}
