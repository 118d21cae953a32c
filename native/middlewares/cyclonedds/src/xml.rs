//! The part of XML that modes and checks of a Cyclone configuration need: removing comments,
//! removing elements, reading the content of elements.
//!
//! Cyclone accepts names in any case and settings from several documents in a row, later ones
//! replacing earlier ones; so a mode need not edit the profile, except for lists (interfaces,
//! peers), which would grow instead of being replaced.

/// `text` without its comments.
pub fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// `text` (without comments) without every element of this name. Errors: an element that does not
/// end.
pub fn without(text: &str, element: &str) -> Result<String, String> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((begin, end)) = find(rest, element)? {
        kept.push_str(&rest[..begin]);
        rest = &rest[end..];
    }
    Ok(kept + rest)
}

/// The tags, lowercased, that open elements of this name in `text` (without comments).
pub fn tags(text: &str, element: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some(begin) = opening(rest, element) {
        let length = rest[begin..].find('>').map_or(rest.len() - begin, |at| at + 1);
        tags.push(rest[begin..begin + length].to_ascii_lowercase());
        rest = &rest[begin + length..];
    }
    tags
}

/// Where the next element of this name begins and ends.
fn find(text: &str, element: &str) -> Result<Option<(usize, usize)>, String> {
    let Some(begin) = opening(text, element) else { return Ok(None) };
    let unended = || format!("its element {element} does not end");
    let tag_end = begin + text[begin..].find('>').ok_or_else(unended)? + 1;
    if text[..tag_end].ends_with("/>") {
        return Ok(Some((begin, tag_end)));
    }
    let closing = format!("</{}", element.to_ascii_lowercase());
    let close =
        tag_end + text[tag_end..].to_ascii_lowercase().find(&closing).ok_or_else(unended)?;
    let end = close + text[close..].find('>').ok_or_else(unended)? + 1;
    Ok(Some((begin, end)))
}

/// Where the next tag that opens an element of this name begins.
fn opening(text: &str, element: &str) -> Option<usize> {
    let (text, tag) = (text.to_ascii_lowercase(), format!("<{}", element.to_ascii_lowercase()));
    text.match_indices(&tag).map(|(at, _)| at).find(|at| {
        text[at + tag.len()..].starts_with(|c: char| c.is_whitespace() || c == '/' || c == '>')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_goes_whole_and_its_namesakes_stay() {
        let text = "<A><Peer x='1'/><PEERS><Peer x='2'/></peers>\n<Peers y=\"\"/><PeersToo/></A>";
        assert_eq!(without(text, "Peers").unwrap(), "<A><Peer x='1'/>\n<PeersToo/></A>");
        assert_eq!(without("<A/>", "Peers").unwrap(), "<A/>");
        assert!(without("<A><Peers><Peer/></A>", "Peers")
            .unwrap_err()
            .contains("Peers does not end"));
        assert!(without("<A><Peers ", "Peers").is_err());
    }

    #[test]
    fn tags_are_found_in_any_case() {
        assert_eq!(
            tags("<I><Net Name='Lo'/><NETS/><net></I>", "Net"),
            ["<net name='lo'/>", "<net>"]
        );
        assert_eq!(tags("<I><Net", "Net"), [""; 0]);
        assert_eq!(tags("<I><Net ", "Net"), ["<net "]);
    }

    #[test]
    fn comments_hide_what_they_hold() {
        assert_eq!(without_comments("a<!-- <b> -->c<!---->d<!-- e"), "acd");
    }
}
