// Runs a program for wasm32-wasip1 or wasm32-unknown-unknown: node wasm.mjs PROGRAM.wasm
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", returnOnExit: true });
const program = new WebAssembly.Module(readFileSync(process.argv[2]));
const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: wasi.wasiImport });
process.exit("_start" in instance.exports ? wasi.start(instance) : instance.exports.main(0, 0));
