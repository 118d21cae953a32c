//! A message type is an exact layout: CDR before the payload, the payload, CDR after it.
//!
//! The suite (in Python) holds the layouts themselves. A worker needs only the bytes around the
//! payload, so it knows no type by name.

use serde::{de::Error as _, Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageType {
    pub name: String,
    /// Size of the payload, including the header that `records.md` specifies.
    pub payload_bytes: u32,
    /// The name in ROS 2's form: `sensor_msgs/msg/Image`.
    pub ros_type: String,
    /// The XCDR1 bytes from the encapsulation header up to the payload.
    #[serde(rename = "cdr_prefix_hex", with = "hex")]
    pub cdr_prefix: Vec<u8>,
    /// The XCDR1 bytes after the payload.
    #[serde(rename = "cdr_suffix_hex", with = "hex")]
    pub cdr_suffix: Vec<u8>,
}

impl MessageType {
    /// `std_msgs/msg/UInt8MultiArray` with `payload_bytes` of data: the type of `Bytes(n)`.
    pub fn bytes(payload_bytes: u32) -> Self {
        let mut cdr_prefix = vec![0, 1, 0, 0]; // plain CDR, little endian
        cdr_prefix.extend([0; 8]); // layout: no dimensions, data_offset 0
        cdr_prefix.extend(payload_bytes.to_le_bytes());
        MessageType {
            name: format!("Bytes({payload_bytes})"),
            payload_bytes,
            ros_type: "std_msgs/msg/UInt8MultiArray".into(),
            cdr_prefix,
            cdr_suffix: Vec::new(),
        }
    }

    /// Request and reply of `rmwbench_msgs/srv/Bytes` with this many bytes of data each.
    pub fn service_bytes(request_bytes: u32, reply_bytes: u32) -> (Self, Self) {
        let part = |part: &str, payload_bytes: u32| MessageType {
            name: format!("Bytes_{part}({payload_bytes})"),
            payload_bytes,
            ros_type: format!("rmwbench_msgs/srv/Bytes_{part}"),
            // plain CDR, little endian; then only `uint8[] data`
            cdr_prefix: [0, 1, 0, 0].into_iter().chain(payload_bytes.to_le_bytes()).collect(),
            cdr_suffix: Vec::new(),
        };
        (part("Request", request_bytes), part("Response", reply_bytes))
    }

    /// The DDS type name that ROS 2 uses: `sensor_msgs::msg::dds_::Image_`.
    pub fn dds_type_name(&self) -> String {
        let mut parts: Vec<&str> = self.ros_type.split('/').collect();
        let last = parts.pop().unwrap_or_default();
        parts.push("dds_");
        format!("{}::{last}_", parts.join("::"))
    }

    /// Size of the serialised message, encapsulation header included.
    pub fn cdr_bytes(&self) -> usize {
        self.cdr_prefix.len() + self.payload_bytes as usize + self.cdr_suffix.len()
    }
}

/// The DDS topic name that ROS 2 uses for a topic.
pub fn dds_topic_name(topic: &str) -> String {
    format!("rt/{topic}")
}

/// The DDS topic name that ROS 2 uses for a service's requests.
pub fn dds_request_topic_name(service: &str) -> String {
    format!("rq/{service}Request")
}

/// The DDS topic name that ROS 2 uses for a service's replies; every client of the service reads
/// it.
pub fn dds_reply_topic_name(service: &str) -> String {
    format!("rr/{service}Reply")
}

mod hex {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() % 2 != 0 || !text.is_ascii() {
            return Err(D::Error::custom("expected pairs of hexadecimal digits"));
        }
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).map_err(D::Error::custom))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ros_names_become_dds_names() {
        assert_eq!(MessageType::bytes(64).dds_type_name(), "std_msgs::msg::dds_::UInt8MultiArray_");
        assert_eq!(dds_topic_name("camera"), "rt/camera");
        let (request, reply) = MessageType::service_bytes(64, 100);
        assert_eq!(request.dds_type_name(), "rmwbench_msgs::srv::dds_::Bytes_Request_");
        assert_eq!(
            (reply.dds_type_name().as_str(), reply.cdr_bytes()),
            ("rmwbench_msgs::srv::dds_::Bytes_Response_", 108)
        );
        assert_eq!(dds_request_topic_name("sum"), "rq/sumRequest");
        assert_eq!(dds_reply_topic_name("sum"), "rr/sumReply");
    }

    #[test]
    fn hex_round_trips_and_rejects_half_bytes() {
        let t = MessageType::bytes(300);
        let text = serde_json::to_string(&t).unwrap();
        assert_eq!(serde_json::from_str::<MessageType>(&text).unwrap(), t);
        assert!(serde_json::from_str::<MessageType>(
            &text.replace("\"cdr_suffix_hex\":\"\"", "\"cdr_suffix_hex\":\"0\"")
        )
        .is_err());
    }
}
