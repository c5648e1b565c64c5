//! Generated from `proto/`. Nothing is written by hand here, and these types stop at the edge.
#![allow(missing_debug_implementations, unreachable_pub, clippy::all, clippy::large_futures)]

macro_rules! package {
    ($area:ident) => {
        pub mod $area {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/hindsight.", stringify!($area), ".v1.rs"));
            }
        }
    };
}

package!(collector);
package!(common);
package!(compactor);
package!(evaluator);
package!(event);
package!(memory);
package!(operations);
package!(recall);
package!(storage);

/// Every message and service, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hindsight_descriptor.bin"));
