import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { parse } from "yaml"
import { z } from "zod"

const SUITE = new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url)

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const
export type Revision = (typeof REVISIONS)[number]

export interface SuiteRun {
  /** What the suite printed. */
  readonly output: string
  /** The checks of each scenario that ran. */
  readonly scenarios: ReadonlyMap<string, { readonly passed: number; readonly failed: number }>
}

/** Runs the official suite. */
export async function runSuite(args: readonly string[]): Promise<SuiteRun> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
  const { stdout: output } = await promisify(execFile)(process.execPath, [fileURLToPath(SUITE), ...args], {
    cwd: scratch.path,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env },
  }).catch((error: { readonly stdout: string }) => error)
  const lines = [...output.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gmu)]
  return {
    output,
    scenarios: new Map(
      lines.map(([, name = "", passed, failed]) => [name, { passed: Number(passed), failed: Number(failed) }]),
    ),
  }
}

/**
 * Runs the scenarios of a revision for servers. Some have limits below a second, which a busy machine does not keep, so one that should pass
 * and fails runs again alone.
 */
export async function runServerSuite(
  url: string,
  revision: Revision,
  shouldPass: (scenario: string) => boolean,
): Promise<SuiteRun> {
  const first = await runSuite(["server", "--url", url, "--requirements", revision])
  const scenarios = new Map(first.scenarios)
  let { output } = first
  for (const [name, { failed }] of first.scenarios) {
    if (failed === 0 || !shouldPass(name)) continue
    const alone = await runSuite(["server", "--url", url, "--scenario", name, "--spec-version", revision])
    const [, passed, again] = /^Passed: (\d+)\/\d+, (\d+) failed/mu.exec(alone.output) ?? []
    scenarios.set(name, { passed: Number(passed ?? 0), failed: Number(again ?? 1) })
    output += alone.output
  }
  return { output, scenarios }
}

const Requirements = z.object({
  server: z.array(z.string()),
  client: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string(), reason: z.string() })),
})

/** What a revision requires, by the tables of the suite. */
export function requirementsOf(revision: Revision): z.infer<typeof Requirements> {
  return Requirements.parse(parse(readFileSync(new URL(`../requirements/${revision}.yaml`, SUITE), "utf8")))
}
