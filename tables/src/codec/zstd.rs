//! Blocks as zstd frames without their magic number.

use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, DDict};

use crate::codec::BlockCodec;

/// The first four bytes of every zstd frame; files leave them out.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Compresses blocks.
pub(crate) struct Encoder {
    context: CCtx<'static>,
    frame: Vec<u8>,
}

impl Encoder {
    /// `level` as zstd counts it; the dictionary may be empty.
    pub(crate) fn new(level: i32, dictionary: &[u8]) -> Self {
        let mut context = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            context
                .set_parameter(parameter)
                .expect("parameters that zstd has always known");
        }
        if !dictionary.is_empty() {
            context
                .load_dictionary(dictionary)
                .expect("a dictionary in memory");
        }
        Self {
            context,
            frame: Vec::new(),
        }
    }
}

impl BlockCodec for Encoder {
    fn encode(&mut self, packed: &[u8], out: &mut Vec<u8>) {
        self.frame.clear();
        self.frame.reserve(zstd_safe::compress_bound(packed.len()));
        let done = self.context.compress2(&mut self.frame, packed);
        match (done, self.frame.strip_prefix(&MAGIC)) {
            (Ok(_), Some(body)) => out.extend_from_slice(body),
            // The caller stores what did not get smaller as it is.
            _ => out.extend_from_slice(packed),
        }
    }
}

/// What decompression needs beside the block.
pub(crate) struct Context {
    context: DCtx<'static>,
    frame: Vec<u8>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self {
            context: DCtx::create(),
            frame: Vec::new(),
        }
    }

    /// Decompresses a block to exactly fill `out`.
    pub(crate) fn decode(
        &mut self,
        stored: &[u8],
        dictionary: Option<&DDict<'_>>,
        out: &mut [u8],
    ) -> Result<(), &'static str> {
        self.frame.clear();
        self.frame.extend_from_slice(&MAGIC);
        self.frame.extend_from_slice(stored);
        let done = match dictionary {
            Some(d) => self.context.decompress_using_ddict(out, &self.frame, d),
            None => self.context.decompress(out, &self.frame),
        };
        match done {
            Ok(n) if n == out.len() => Ok(()),
            Ok(_) => Err("too few values"),
            Err(_) => Err("no valid zstd data"),
        }
    }
}

/// A dictionary made ready.
pub(crate) fn dictionary(bytes: &[u8]) -> Option<DDict<'static>> {
    DDict::try_create(bytes)
}

/// Trains a dictionary of at most `bytes` bytes on blocks. Nothing if they are too few.
pub(crate) fn train(blocks: &[Vec<u8>], bytes: usize) -> Option<Vec<u8>> {
    let sizes: Vec<usize> = blocks.iter().map(Vec::len).collect();
    let mut dictionary = Vec::with_capacity(bytes);
    zstd_safe::train_from_buffer(&mut dictionary, &blocks.concat(), &sizes).ok()?;
    Some(dictionary)
}
