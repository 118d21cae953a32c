//! Two settings of a configuration that Cyclone accepts silently and that this worker refuses.

use rmwbench_harness::middleware::ErrorKind;

use crate::xml::without_comments;

const CRASHES: &str = "it traces the content of samples (Verbosity finest, Category trace), but raw-CDR topics have no function for \
                       that and Cyclone DDS would crash at the first message; Verbosity finer works";

/// Checks a profile's text for `domain_id`; Cyclone checks everything else in it.
pub fn check(text: &str, domain_id: u32) -> Result<(), (ErrorKind, String)> {
    let text = without_comments(text).to_ascii_lowercase();
    if !addresses(&text, domain_id) {
        let message = format!("its Domain elements are for other domains than {domain_id}: Cyclone DDS would ignore them");
        return Err((ErrorKind::Invalid, message));
    }
    if contents(&text).any(|(name, value)| traces_content(name, value)) {
        return Err((ErrorKind::Unsupported, CRASHES.into()));
    }
    Ok(())
}

/// Whether an element, in lower case, makes Cyclone trace the content of samples. In a text, as it
/// is passed here, Cyclone accepts the beginning of a name for the name, and also the alias of
/// Category.
fn traces_content(name: &str, value: &str) -> bool {
    let (verbosity, category) = ("verbosity".starts_with(name), "category".starts_with(name));
    (verbosity && value == "finest")
        || (category || name == "enablecategory") && value.split(',').any(|c| c.trim() == "trace")
}

/// Whether the text applies to `domain_id`: Cyclone skips every Domain element of another id.
fn addresses(text: &str, domain_id: u32) -> bool {
    let mut others = false;
    for element in text.split("<domain").skip(1) {
        let tag = element.split('>').next().unwrap_or("");
        let attribute = tag.split_once("id").and_then(|(_, rest)| rest.split(['"', '\'']).nth(1));
        let moved = || contents(element).find(|(name, _)| *name == "id").map(|(_, id)| id);
        let id = attribute.or_else(moved).unwrap_or("any").trim();
        if id == "any" || id.parse() == Ok(domain_id) {
            return true;
        }
        others |= id.parse::<u32>().is_ok();
    }
    !others // no Domain element, or one that Cyclone itself will complain of
}

/// The names of the elements, and the text with which each begins.
fn contents(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('<').skip(1).filter_map(|piece| {
        let (tag, content) = piece.split_once('>')?;
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next()?;
        Some((name, content.trim()))
    })
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
            "<Domain><Id>3</Id></Domain>",
        ] {
            assert_eq!(check(text, 3), Ok(()), "{text}");
        }
        for text in [
            "<CycloneDDS><Domain Id=\"4\"><General/></Domain></CycloneDDS>",
            "<!-- <Domain Id=\"3\"> --><Domain Id=\"4\"/>",
            "<Domain><Id>4</Id></Domain>",
        ] {
            assert_eq!(check(text, 3).unwrap_err().0, ErrorKind::Invalid, "{text}");
        }
    }

    #[test]
    fn a_trace_that_would_crash_is_refused() {
        for tracing in [
            "<Verbosity> Finest </Verbosity>",
            "<Verbosity >finest</Verbosity >",
            "<Verb>finest</Verb>",
            "<Category>info,trace</Category>",
            "<EnableCategory>trace</EnableCategory>",
        ] {
            assert_eq!(check(tracing, 0).unwrap_err().0, ErrorKind::Unsupported, "{tracing}");
        }
        for tracing in [
            "<Verbosity>finer</Verbosity>",
            "<Category>content,data</Category>",
            "<OutputFile>trace</OutputFile>",
            "<!--<Verbosity>finest</Verbosity>-->",
        ] {
            assert_eq!(check(tracing, 0), Ok(()), "{tracing}");
        }
    }
}
