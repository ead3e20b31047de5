import { execFile } from "node:child_process"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { expect, test } from "vitest"

const SUITE = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
)
const CLIENT = fileURLToPath(new URL("../../support/mcp/conformance-client.ts", import.meta.url))

/** The official suite. It ends with a line for each scenario and a total. */
test.each(["2025-11-25", "2026-07-28"])(
  "the client passes every scenario of %s",
  async (version) => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        SUITE,
        "client",
        "--command",
        `${process.execPath} ${CLIENT}`,
        "--suite",
        "all",
        "--timeout",
        "110000",
        "--spec-version",
        version,
      ],
      { cwd: scratch.path, maxBuffer: 64 * 1024 * 1024, env: { ...process.env } },
    ).catch((error: { readonly stdout: string }) => error)
    expect(stdout.split("\n").filter((line) => line.startsWith("✗"))).toEqual([])
    expect(stdout).toMatch(/^Total: \d{3} passed, 0 failed/mu)
  },
  240_000,
)
