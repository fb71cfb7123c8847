//! Cost models: formulas in n, each compared with what the simulator counted.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// The names in formulas with their values.
pub type Values = BTreeMap<String, u64>;

/// `n=65536 block=256` as values.
pub fn values(text: &str) -> Result<Values> {
    let value = |word: &str| {
        let (name, number) = word.split_once('=').with_context(|| format!("{word} is not NAME=NUMBER"))?;
        Ok((name.to_string(), number.parse().with_context(|| format!("{word} is not NAME=NUMBER"))?))
    };
    text.split_whitespace().map(value).collect()
}

/// The value of a formula of whole numbers: `+ - * / ^`, brackets, names, and `up(a / b)`, which rounds up. A division
/// that leaves a rest is an error elsewhere.
pub fn value(formula: &str, values: &Values) -> Result<u64> {
    let tokens = tokens(formula);
    let mut reader = Reader { tokens: &tokens, at: 0, values };
    let value = reader.sum().with_context(|| format!("in the formula {formula}"))?;
    ensure!(reader.at == tokens.len(), "the formula {formula} goes on behind its end");
    Ok(value)
}

/// Names, numbers and single characters.
fn tokens(formula: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut word = false;
    for c in formula.chars() {
        let letter = c.is_ascii_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if letter && word => last.push(c),
            _ if c.is_whitespace() => {}
            _ => tokens.push(c.to_string()),
        }
        word = letter;
    }
    tokens
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    values: &'a Values,
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|next| next == token);
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self) -> Result<u64> {
        let mut value = self.product()?;
        loop {
            if self.takes("+") {
                value = value.checked_add(self.product()?).context("too large")?;
            } else if self.takes("-") {
                value = value.checked_sub(self.product()?).context("below zero")?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<u64> {
        let mut value = self.power()?;
        loop {
            if self.takes("*") {
                value = value.checked_mul(self.power()?).context("too large")?;
            } else if self.takes("/") {
                let by = self.power()?;
                ensure!(by != 0 && value.is_multiple_of(by), "{value} / {by} is no whole number; up() rounds up");
                value /= by;
            } else {
                return Ok(value);
            }
        }
    }

    fn power(&mut self) -> Result<u64> {
        let base = self.atom()?;
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = u32::try_from(self.power()?).context("too large")?;
        base.checked_pow(exponent).context("too large")
    }

    fn atom(&mut self) -> Result<u64> {
        if self.takes("(") {
            let value = self.sum()?;
            ensure!(self.takes(")"), "a bracket does not close");
            return Ok(value);
        }
        if self.takes("up") {
            ensure!(self.takes("("), "up takes (a / b)");
            let a = self.power()?;
            ensure!(self.takes("/"), "up takes (a / b)");
            let b = self.power()?;
            ensure!(b != 0 && self.takes(")"), "up takes (a / b)");
            return Ok(a.div_ceil(b));
        }
        let Some(token) = self.tokens.get(self.at) else { bail!("it ends too early") };
        self.at += 1;
        if let Some(value) = self.values.get(token) {
            return Ok(*value);
        }
        token.parse().with_context(|| format!("{token} is neither a number nor a name with a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_have_the_usual_order() {
        let values = values("n=1000 block=256").unwrap();
        for (formula, want) in [
            ("8*n + 4", 8004),
            ("2 + 3 * 4 - 1", 13),
            ("(2 + 3) * 4", 20),
            ("up(n / block)", 4),
            ("up(n / (2*block))", 2),
            ("2^3^2", 512),
            ("n / 8 / 5", 25),
        ] {
            assert_eq!(value(formula, &values).unwrap(), want, "{formula}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        let values = values("n=1000").unwrap();
        for formula in ["", "n +", "n n", "(n", "m", "n / 3", "n / 0", "1 - 2", "up(n)", "2^64", "n)"] {
            assert!(value(formula, &values).is_err(), "{formula}");
        }
        assert!(super::values("n").is_err() && super::values("n=x").is_err());
    }
}
