import { existsSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool } from "../support/model-server/turn.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { settingsFor, startHermes, streamLines } from "./hermes-process.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const SCRIPT = "mkdir -p deep; echo x > deep/CLAUDE.md; touch planted; sleep 100\n"
const APPEARED = "deep/CLAUDE.md appeared, whose text agents follow"

test.skipIf(missing !== undefined).each([
  ["-z", "SIGINT", ["-z", "go"]],
  ["stream-json", "SIGTERM", ["chat", "-q", "go", "--output-format", "stream-json"]],
] as const)(
  titleWithReason("%s after %s: what the check after the command found is printed", missing),
  async (mode, signal, args) => {
    await using model = await startModelServer([callsTool("terminal", { command: "sh plant.sh" })])
    await using home = await temporaryHome({
      config: settingsFor(model, "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\n"),
      workFiles: { "plant.sh": SCRIPT },
    })
    await using running = startHermes(home, args)
    running.closeStdin()
    await expect.poll(() => existsSync(join(home.workdir, "planted")), { timeout: 30_000 }).toBe(true)
    running.signal(signal)
    const { stdout, stderr } = await running.exit
    const warnings = mode === "-z" ? [stderr] : streamLines(stdout).map((line) => JSON.stringify(line))
    expect(warnings.join("\n")).toContain(APPEARED)
    expect(existsSync(join(home.workdir, "deep/CLAUDE.md"))).toBe(false)
  },
)
