//! What Cyclone would not say about a configuration before it is too late: the two cases it takes without a word and should not.

use rmwbench_harness::middleware::ErrorKind;

const CRASHES: &str = "it traces the content of samples (Verbosity finest, Category trace), but raw-CDR topics have no function for \
                       that and Cyclone DDS would crash at the first message; Verbosity finer works";

/// Checks a profile's text for `domain_id`; everything else in it is Cyclone's to judge.
pub fn check(text: &str, domain_id: u32) -> Result<(), (ErrorKind, String)> {
    let text = without_comments(text).to_ascii_lowercase();
    if !addresses(&text, domain_id) {
        let message = format!("its Domain elements are for other domains than {domain_id}: Cyclone DDS would ignore them");
        return Err((ErrorKind::Invalid, message));
    }
    if contents(&text, "verbosity").any(|v| v == "finest") || contents(&text, "category").any(|c| c.split(',').any(|c| c.trim() == "trace"))
    {
        return Err((ErrorKind::Unsupported, CRASHES.into()));
    }
    Ok(())
}

/// Whether the text configures the exchange over iceoryx, for which a RouDi must run.
pub fn exchanges_over_iceoryx(text: &str) -> bool {
    let text = without_comments(text).to_ascii_lowercase();
    let mut elements = text.split("<pubsubmessageexchange").skip(1).map(|rest| rest.split('>').next().unwrap_or(""));
    elements.any(|tag| {
        let compact: String = tag.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '\'' { '"' } else { c }).collect();
        compact.contains("type=\"iox\"")
    })
}

/// Whether the text has something to say about `domain_id`: Cyclone skips every Domain element of another id.
fn addresses(text: &str, domain_id: u32) -> bool {
    let mut others = false;
    for element in text.split("<domain").skip(1) {
        let tag = element.split('>').next().unwrap_or("");
        let id = tag.split_once("id").and_then(|(_, rest)| rest.split(['"', '\'']).nth(1)).unwrap_or("any").trim();
        if id == "any" || id.parse() == Ok(domain_id) {
            return true;
        }
        others |= id.parse::<u32>().is_ok();
    }
    !others // no Domain element, or one that Cyclone itself will complain of
}

/// The text within each element of this name.
fn contents<'a>(text: &'a str, element: &str) -> impl Iterator<Item = &'a str> {
    text.split(&format!("<{element}>")).skip(1).map(|rest| rest.split('<').next().unwrap_or("").trim()).collect::<Vec<_>>().into_iter()
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_another_domain_is_noticed() {
        for text in [
            "",
            "<CycloneDDS><Domain Id=\"any\"/></CycloneDDS>",
            "<CycloneDDS><Domain><General/></Domain></CycloneDDS>",
            "<Domain id='3'/>",
            "<Domain id='4'/><Domain id='3'/>",
        ] {
            assert_eq!(check(text, 3), Ok(()), "{text}");
        }
        for text in ["<CycloneDDS><Domain Id=\"4\"><General/></Domain></CycloneDDS>", "<!-- <Domain Id=\"3\"> --><Domain Id=\"4\"/>"] {
            assert_eq!(check(text, 3).unwrap_err().0, ErrorKind::Invalid, "{text}");
        }
    }

    #[test]
    fn the_exchange_is_found_where_it_is_configured() {
        for text in [include_str!("../profiles/shm.xml"), "<PubSubMessageExchange priority='1' type = 'iox'/>"] {
            assert!(exchanges_over_iceoryx(text), "{text}");
        }
        for text in [
            include_str!("../profiles/untouched.xml"),
            include_str!("../profiles/tuned.xml"),
            "<!-- <PubSubMessageExchange type=\"iox\"/> -->",
            "<PubSubMessageExchange type=\"cdds\"/>",
        ] {
            assert!(!exchanges_over_iceoryx(text), "{text}");
        }
    }

    #[test]
    fn a_trace_that_would_crash_is_refused() {
        for tracing in ["<Verbosity> Finest </Verbosity>", "<Category>info,trace</Category>"] {
            assert_eq!(check(tracing, 0).unwrap_err().0, ErrorKind::Unsupported, "{tracing}");
        }
        for tracing in ["<Verbosity>finer</Verbosity>", "<Category>content,data</Category>", "<!--<Verbosity>finest</Verbosity>-->"] {
            assert_eq!(check(tracing, 0), Ok(()), "{tracing}");
        }
    }
}
