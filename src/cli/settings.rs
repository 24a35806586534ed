//! The settings of a run, from the command line and the configuration, as options for the pipeline.

use super::common_args::{Common, RuleArgs};
use super::config::Config;
use super::diagnostics::note;
use super::output::to_stdout;
use super::terminal::name;
use super::values::no_rule;
use crate::check::{Policy, Unknown};
use crate::classify::Choice;
use crate::contract::Budget;
use crate::pipeline::Options;

/// Loads the configuration and fills in settings that are missing on the command line. An `--output` that means standard output
/// is removed.
pub fn load(common: &mut Common, given: &dyn Fn(&str) -> bool) -> Result<Config, String> {
    // As with -w, a dash is standard output.
    common.output.take_if(|path| to_stdout(path));
    let nearest = || Config::find(&std::env::current_dir().ok()?);
    let path = match &common.configuration.config {
        None if common.configuration.no_config => None,
        None => nearest(),
        named => named.clone(),
    };
    let Some(path) = path else { return Ok(Config::default()) };
    let config = Config::load(&path)?;
    if !common.quiet {
        note(&format_args!("The configuration is {}.", name(&path)));
    }
    config.fill(common, given);
    Ok(config)
}

/// The options for the pipeline. `all` asks for datagrams that no protocol claims, too.
///
/// # Errors
/// A sentence, if an option names an unknown rule.
pub fn pipeline_options(common: &Common, all: bool) -> Result<Options, String> {
    let mut choice = Choice { pins: common.decode_as.clone(), ..Choice::default() };
    if !common.protocol.is_empty() {
        choice.protocols = Choice::only(&common.protocol);
    }
    Ok(Options {
        choice,
        timeout: common.timeout,
        min_confidence: common.min_confidence,
        all,
        secrets: common.show_secrets,
        policy: policy(&common.rules).map_err(|unknown| no_rule(&unknown.name))?,
        count: common.count,
        per_file: common.per_file,
        budget: Budget::mib(common.memory),
        watched: None,
    })
}

/// The severities that the user wants: the profile comes first, then levels, then ignored rules.
fn policy(rules: &RuleArgs) -> Result<Policy, Unknown> {
    let mut policy = Policy::new(rules.profile);
    rules.level.iter().try_for_each(|(name, severity)| policy.level(name, *severity))?;
    policy.select(&rules.select)?;
    rules.ignore.iter().try_for_each(|name| policy.level(name, None))?;
    Ok(policy)
}
