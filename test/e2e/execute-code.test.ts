import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes, streamLines } from "./hermes-process.ts"

test("a script calls tools, and the user sees its calls", async () => {
  const code = `import { read_file, write_file } from "hermes_tools"
const { content } = await read_file("a.txt")
await write_file("b.txt", content.split("|")[1].toUpperCase())
console.log("copied")`
  await using model = await startModelServer([callsTool("execute_code", { code }, { id: "outer" }), says("Done.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "a.txt": "text\n" } })
  const args = ["-z", "copy it", "--output-format", "stream-json", "--yolo"]
  const { code: exitCode, stdout } = await hermes(home, args, { stdin: "inherit-null" })
  expect(exitCode).toBe(0)
  expect(readFileSync(join(home.workdir, "b.txt"), "utf8")).toBe("TEXT")
  const started = streamLines(stdout).filter(({ type }) => type === "tool.start")
  expect(started.map(({ name, parent_tool_call_id: parent }) => [name, parent])).toEqual([
    ["execute_code", undefined],
    ["read_file", "outer"],
    ["write_file", "outer"],
  ])
  expect(JSON.parse(model.toolResults(1)[0]?.text ?? "")).toMatchObject({ status: "success", output: "copied" })
})

test.each([
  ["computes forever", "in the sandbox", "", "for (;;);"],
  ["computes forever", "without one", NO_SANDBOX, "for (;;);"],
  [
    "waits for a call",
    "without one",
    NO_SANDBOX,
    `import { terminal } from "hermes_tools"\nawait terminal("sleep 600")`,
  ],
])(
  "a script that %s ends %s when Hermes is killed; the next script removes its directory",
  async (_what, _where, config, loop) => {
    const temporary = mkdtempSync(join(tmpdir(), "killed-"))
    const code = `import { writeFileSync } from "node:fs"\nwriteFileSync("begun", "")\n${loop}`
    await using model = await startModelServer([
      callsTool("execute_code", { code }),
      callsTool("execute_code", { code: "console.log(1)" }),
      says("Done."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model, config), env: { TMPDIR: temporary } })
    await using running = startHermes(home, ["-z", "go", "--yolo"], { stdin: "inherit-null" })
    await expect.poll(() => readdirSync(home.workdir), { timeout: 15_000 }).toContain("begun")
    const staging = (): readonly string[] => readdirSync(temporary).filter((name) => name.startsWith("hermes_sandbox_"))
    expect(staging()).toHaveLength(1)
    running.signal("SIGKILL")
    await running.exit
    await expect.poll(() => processesWith(`${temporary}/hermes_sandbox_`), { timeout: 15_000 }).toEqual([])
    await hermes(home, ["-z", "again", "--yolo"], { stdin: "inherit-null" })
    expect(staging()).toEqual([])
    rmSync(temporary, { recursive: true, force: true })
  },
  60_000,
)

function processesWith(text: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
        return line.includes(text) ? [line] : []
      } catch {
        // It has exited in the meantime.
        return []
      }
    })
}
