//! The part of the shell grammar that separates words from operators.

/// A piece of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A word without its quotes.
    Word(String),
    /// An operator that is not quoted: `|`, `>`, `<`, `&&`, `;`, `(`, a line feed; `$(` also in double quotes.
    Operator(String),
    /// An unclosed quote.
    Open(char),
}

/// Splits shell text into words and operators, without comments. A backslash joins lines.
pub fn pieces(text: &str) -> Vec<Piece> {
    let (mut pieces, mut word) = (vec![], None::<String>);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                if let Some(inside) = quoted(&mut rest, c, word) {
                    pieces.push(inside);
                }
            }
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            ' ' | '\t' => pieces.extend(word.take().map(Piece::Word)),
            '#' if word.is_none() => while rest.next_if(|&c| c != '\n').is_some() {},
            '\n' | '|' | '>' | '<' | '&' | ';' | '(' | ')' | '`' => {
                pieces.extend(word.take().map(Piece::Word));
                let mut operator = String::from(c);
                // The only operators that may be doubled.
                operator.extend(rest.next_if(|&next| next == c && "|>&".contains(c)));
                pieces.push(Piece::Operator(operator));
            }
            '$' if rest.next_if_eq(&'(').is_some() => {
                pieces.extend(word.take().map(Piece::Word));
                pieces.push(Piece::Operator("$(".to_owned()));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    pieces.extend(word.take().map(Piece::Word));
    pieces
}

/// Reads up to the closing quote into the word. Returns what is not plain text in between.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars>, quote: char, word: &mut String) -> Option<Piece> {
    let mut inside = None;
    loop {
        match rest.next() {
            None => return Some(Piece::Open(quote)),
            Some(c) if c == quote => return inside,
            Some('\\') if quote == '"' && rest.peek().is_some_and(|c| "\"\\$`\n".contains(*c)) => {
                word.extend(rest.next().filter(|&c| c != '\n'));
            }
            Some(c) => {
                word.push(c);
                if quote == '"' && word.ends_with("$(") {
                    inside = Some(Piece::Operator("$(".to_owned()));
                }
            }
        }
    }
}

/// The simple commands of a script as words, without assignments, redirections and the words of loops.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let (mut commands, mut command, mut redirected) = (vec![], vec![], false);
    for piece in pieces(text) {
        match piece {
            // Neither the number nor the file of `2>log` is an argument.
            Piece::Operator(o) if [">", ">>", "<"].contains(&o.as_str()) => {
                command.pop_if(|word: &mut String| word == "2");
                redirected = true;
            }
            Piece::Operator(o) if o == "&" && redirected => {}
            Piece::Word(_) if std::mem::take(&mut redirected) => {}
            Piece::Word(word) if command.is_empty() && leads(&word) => {}
            Piece::Word(word) => command.push(word),
            Piece::Operator(_) | Piece::Open(_) => commands.push(std::mem::take(&mut command)),
        }
    }
    commands.push(command);
    commands.retain(|command| !command.is_empty());
    commands
}

/// Whether a word may stand before a command.
fn leads(word: &str) -> bool {
    let assigns = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    assigns || ["do", "then", "else", "if", "while", "!", "{", "time"].contains(&word)
}
