//! Types as in rmw_zenoh's keys: the DDS name, and RIHS01, the hash of the type's description.
//!
//! The hash cannot be computed from a layout, which has no names of fields: the hashes of this
//! benchmark's types are listed in `type_hashes.txt`, as ROS 2 Jazzy's rosidl generates them.

use hiroz::{TypeHash, TypeInfo};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::Error;

const HASHES: &str = include_str!("type_hashes.txt");

/// The type's name and hash. Errors: unsupported for a type without a known hash.
pub fn info(message_type: &MessageType, object: &str) -> Result<TypeInfo, Error> {
    let line = HASHES
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == message_type.ros_type);
    let hash = line.and_then(|(_, hash)| TypeHash::from_rihs_string(hash));
    let none = || {
        Error::unsupported(
            object,
            format!(
                "type {}: its RIHS01 hash, a part of rmw_zenoh's keys, is not known",
                message_type.ros_type
            ),
        )
    };
    Ok(TypeInfo { name: message_type.dds_type_name(), hash: hash.ok_or_else(none)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_is_one_and_an_unknown_type_is_refused() {
        assert!(HASHES
            .lines()
            .all(|line| TypeHash::from_rihs_string(line.split_once(' ').unwrap().1).is_some()));
        assert_eq!(
            info(&MessageType::bytes(8), "endpoint 1").unwrap().name,
            "std_msgs::msg::dds_::UInt8MultiArray_"
        );
        let unknown = MessageType { ros_type: "my_msgs/msg/Own".into(), ..MessageType::bytes(8) };
        assert!(info(&unknown, "endpoint 1").is_err());
    }
}
