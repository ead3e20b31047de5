import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { openTerminal } from "../../test/support/virtual-terminal.ts"
import { createCliHome } from "../../test/support/cli-home.ts"

const MODULE = new URL("./node-terminal.ts", import.meta.url).href
const ENTRY = fileURLToPath(new URL("../cli/launch/hermes.ts", import.meta.url))

/** Writes a program that creates a terminal and prints what `body` returns. */
function program(directory: string, body: string): string {
  const path = join(directory, "program.mjs")
  writeFileSync(
    path,
    `import { createNodeTerminal } from ${JSON.stringify(MODULE)}
     const stop = new AbortController()
     process.on("SIGTERM", () => stop.abort())
     const terminal = createNodeTerminal({ signal: stop.signal, plain: false, dumb: false })
     const result = await (async () => { ${body} })()
     terminal.line(JSON.stringify(result ?? null))
     await terminal.flush()
     process.exit(0)`,
  )
  return path
}

describe("standard input", () => {
  const read = (input: string | Uint8Array, options: string): unknown => {
    using home = createCliHome()
    const path = program(home.directory, `return terminal.readStdin({ signal: stop.signal, ${options} })`)
    return JSON.parse(spawnSync(process.execPath, [path], { input, encoding: "utf8" }).stdout)
  }

  test("is read to its end", () => {
    expect(read("hello\nwörld", "maxBytes: 100")).toEqual({ text: "hello\nwörld", truncated: false, timedOut: false })
    expect(read("", "maxBytes: 100")).toEqual({ text: "", truncated: false, timedOut: false })
  })

  test("is truncated at the limit, but not inside a character", () => {
    expect(read("aé", "maxBytes: 2")).toEqual({ text: "a", truncated: true, timedOut: false })
    expect(read("x".repeat(1_000_000), "maxBytes: 10")).toEqual({
      text: "x".repeat(10),
      truncated: true,
      timedOut: false,
    })
  })

  test("stops waiting after the time limit for the first byte", async () => {
    using home = createCliHome()
    const path = program(
      home.directory,
      "return terminal.readStdin({ signal: stop.signal, maxBytes: 10, firstByteWithinMs: 30 })",
    )
    const child = spawn(process.execPath, [path], { stdio: ["pipe", "pipe", "inherit"] })
    const [text] = await once(child.stdout.setEncoding("utf8"), "data")
    await once(child, "close")
    expect(JSON.parse(text)).toEqual({ text: "", truncated: false, timedOut: true })
  })

  test.each([
    ["a pipe", "echo x | ", "", true],
    ["a file", "", "< /etc/hostname", true],
    ["the null device", "", "< /dev/null", false],
    ["a closed descriptor", "", "<&-", false],
  ])("recognises %s", (_name, before, after, piped) => {
    using home = createCliHome()
    const path = program(home.directory, "return [terminal.stdinIsPiped, terminal.stdinIsTty]")
    const { stdout } = spawnSync("bash", ["--norc", "-c", `${before}"$0" "$1" ${after}`, process.execPath, path], {
      encoding: "utf8",
    })
    expect(JSON.parse(stdout)).toEqual([piped, false])
  })
})

test("asks nothing without a terminal", () => {
  using home = createCliHome()
  const path = program(
    home.directory,
    'return [await terminal.confirm("Sure?"), await terminal.ask("Name?"), terminal.color, terminal.columns]',
  )
  const result = spawnSync(process.execPath, [path], { input: "yes\n", encoding: "utf8" })
  expect({ out: JSON.parse(result.stdout), err: result.stderr }).toEqual({ out: [null, null, false, 80], err: "" })
})

describe("on a terminal", () => {
  const open = (home: ReturnType<typeof createCliHome>, args: readonly string[]) =>
    openTerminal({
      command: process.execPath,
      args: [...args],
      env: { ...home.variables, TERM: "xterm" },
      cwd: home.directory,
      columns: 100,
      rows: 30,
    })

  test("returns the answers, colour support and the width", async () => {
    using home = createCliHome()
    const path = program(
      home.directory,
      'return [await terminal.confirm("Sure?"), await terminal.ask("Name? "), terminal.color, terminal.columns]',
    )
    await using terminal = await open(home, [path])
    await terminal.waitFor(/Sure\? \[y\/N\]/)
    terminal.type("y")
    terminal.press("enter")
    await terminal.waitFor(/Name\?/)
    terminal.type("Ada")
    terminal.press("enter")
    await terminal.waitFor(/\[true,"Ada",true,100\]/)
  })

  test("a secret is not shown", async () => {
    using home = createCliHome()
    const path = program(home.directory, 'return (await terminal.ask("Key: ", { secret: true }))?.length')
    await using terminal = await open(home, [path])
    await terminal.waitFor(/Key:/)
    terminal.type("hunter2")
    terminal.press("enter")
    await terminal.waitFor(/^7$/m)
    expect(terminal.scrollback()).not.toContain("hunter2")
  })

  test("end of input returns no answer", async () => {
    using home = createCliHome()
    const path = program(home.directory, 'return [await terminal.confirm("Sure?")]')
    await using terminal = await open(home, [path])
    await terminal.waitFor(/Sure\?/)
    terminal.press("ctrl+d")
    await terminal.waitFor(/\[null\]/)
  })

  test("Ctrl+C at a question exits 130 and changes nothing", async () => {
    using home = createCliHome()
    await home.run(["profile", "create", "coder", "--no-alias"])
    await using terminal = await open(home, [ENTRY, "profile", "delete", "coder"])
    await terminal.waitFor(/Type coder to confirm/)
    terminal.press("ctrl+c")
    expect(await terminal.exit).toMatchObject({ code: 130 })
    expect((await home.run(["profile", "show", "coder"])).code).toBe(0)
  })
})
