//! `dambase checksums`: a list that b3sum or sha256sum can check.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::Args;
use dambase_rules::Variant;
use dambase_tables::table_path;
use sha2::{Digest, Sha256};

use super::failure::{Failure, Outcome};
use super::output::Output;
use super::{Directory, VariantParser, there};

const EXAMPLES: &str = "\
Examples:
  dambase checksums english > english.b3
  dambase checksums --sha256 > egdb.sha256";

/// Print the checksums of tables, as b3sum and sha256sum do
///
/// One line for each table, with its name inside the directory of the tables: there,
/// `b3sum --check LIST` or `sha256sum --check LIST` compares. Equal tables have equal checksums
/// wherever and with however many threads they were built.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Checksums {
    /// The code of draughts [default: all that have tables in the directory]
    #[arg(value_name = "VARIANT", value_parser = VariantParser, hide_possible_values = true)]
    variant: Option<Variant>,
    #[command(flatten)]
    directory: Directory,
    /// SHA-256 instead of BLAKE3
    #[arg(long)]
    sha256: bool,
}

impl Checksums {
    pub(super) fn run(self) -> Outcome {
        let dir = &self.directory.dir;
        let there = |v: &&Variant| dir.join(v.name()).is_dir();
        let variants: Vec<Variant> = match self.variant {
            Some(v) => vec![v],
            None => Variant::ALL.iter().filter(there).copied().collect(),
        };
        if variants.is_empty() {
            let help = match there::above(dir) {
                Some(up) => format!("give the directory above: --dir {}", up.display()),
                None => {
                    "give the directory that has those of the codes in it with --dir".to_owned()
                }
            };
            let message = format!(
                "cannot list checksums: there are no tables in {}",
                dir.display()
            );
            return Err(Failure::failed(message, help));
        }
        let mut out = Output::new();
        for variant in variants {
            let cannot = format!("cannot list the checksums of {variant}");
            let listing = there::tables(dir, variant, &cannot)?;
            for (&material, metrics) in &listing.tables {
                for &metric in metrics {
                    let path = table_path(dir, variant, material, metric);
                    let sum = self.sum(&path).map_err(|e| {
                        let message = format!("cannot read {}: {e}", path.display());
                        Failure::failed(message, "check that the file can be read")
                    })?;
                    let name = there::name(variant, material, metric);
                    // Both programs want slashes on every system.
                    let name = name.to_string_lossy().replace('\\', "/");
                    out.line(format!("{sum}  {name}"))?;
                }
            }
        }
        out.flush()
    }

    /// The checksum of a file in hexadecimal digits.
    fn sum(&self, path: &Path) -> io::Result<String> {
        let mut file = File::open(path)?;
        if self.sha256 {
            let mut hasher = Sha256::new();
            let mut buffer = vec![0; 1 << 16];
            loop {
                match file.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(n) => hasher.update(&buffer[..n]),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            let bytes = hasher.finalize();
            Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
        } else {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(&mut file)?;
            Ok(hasher.finalize().to_hex().to_string())
        }
    }
}
