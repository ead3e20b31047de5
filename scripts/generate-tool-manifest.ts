/**
 * Writes src/tools/manifest.generated.ts from the built-in tools, so that Hermes can list the tools without loading their code.
 * With --check it writes nothing and exits with 1 when the file is out of date.
 */
import { readFile, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"

import { isNotFound } from "../src/base/system-error.ts"
import type { BuiltinTool, ManifestEntry } from "../src/toolkit/builtin-entries.ts"

const MANIFEST = fileURLToPath(new URL("../src/tools/manifest.generated.ts", import.meta.url))

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const { BUILTIN_TOOLS } = await import("../src/tools/builtins.ts")
  const manifest = await renderManifest(BUILTIN_TOOLS)
  const current = await readManifest()
  if (current === manifest) return 0
  if (args.includes("--check")) {
    console.error("src/tools/manifest.generated.ts is out of date: run `npm run generate`")
    return 1
  }
  await writeFile(MANIFEST, manifest)
  return 0
}

/** Renders the manifest with sorted tools and fields in a fixed order, so that equal tools produce equal bytes. */
export async function renderManifest(tools: Readonly<Record<string, BuiltinTool>>): Promise<string> {
  const entries = await Promise.all(
    Object.entries(tools).map(async ([name, builtin]) => [name, await manifestEntry(name, builtin)] as const),
  )
  const manifest = Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return [
    "// Written by scripts/generate-tool-manifest.ts from the tools themselves; run `npm run generate` after changing one.",
    'import type { ManifestEntry } from "../toolkit/builtin-entries.ts"',
    "",
    `export const TOOL_MANIFEST: Readonly<Record<string, ManifestEntry>> = ${JSON.stringify(manifest, undefined, 2)}`,
    "",
  ].join("\n")
}

async function manifestEntry(name: string, builtin: BuiltinTool): Promise<ManifestEntry> {
  const tool = await builtin.load()
  if (tool.name !== name) throw new Error(`the table lists "${name}", but the name of that tool is "${tool.name}"`)
  const { toolset, description, parameters, marks } = tool
  return { name, toolset, description, parameters, marks }
}

async function readManifest(): Promise<string | undefined> {
  try {
    return await readFile(MANIFEST, "utf8")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
