//! `rungs completions`: what a shell needs to complete the program's commands and options.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use rungs::error::{Error, Result};
use std::io::{self, Write};

pub fn command() -> Command {
    Command::new("completions")
        .about("Prints a script by which a shell completes the program's commands and options")
        .after_help("For bash: source <(rungs completions bash)")
        .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(Shell)))
}

pub fn run(arguments: &ArgMatches) -> Result<()> {
    let shell = *arguments.get_one::<Shell>("shell").expect("it is required");
    io::stdout().write_all(&script(shell)).map_err(|e| Error::printing(&e))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = vec![];
    clap_complete::generate(shell, &mut super::command(), "rungs", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_learns_every_command_and_its_options() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            let commands = super::super::command();
            let missing = commands.get_subcommands().map(Command::get_name).find(|name| !script.contains(name));
            assert_eq!(missing, None, "{shell}");
            assert!(script.contains("low-half"), "{shell}");
        }
    }
}
