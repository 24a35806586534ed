//! Colours: those of the terminal, so that they suit a dark and a light one. Whatever has a colour has a sign or a word, too.

use crate::rule::Severity;
use ratatui::style::{Color, Modifier, Style};

/// The styles of the screen.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Whether colours are used.
    pub colour: bool,
}

impl Theme {
    fn fg(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Text of little importance.
    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Heads of tables and titles.
    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The selected line where the keys go to it.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What belongs to what is selected in another pane.
    pub fn related(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }

    /// A severity.
    pub fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Error => self.fg(Color::Red).add_modifier(Modifier::BOLD),
            Severity::Warning => self.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Severity::Note => self.fg(Color::Blue),
        }
    }

    /// A mistake of the user.
    pub fn wrong(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }
}

/// The letter of a severity, which stands beside its colour.
pub fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "E",
        Severity::Warning => "W",
        Severity::Note => "N",
    }
}
