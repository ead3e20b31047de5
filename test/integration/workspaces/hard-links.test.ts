import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository } from "../../support/git-repository.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import type { ReplyTurn } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

interface Project extends AsyncDisposable {
  readonly workdir: string
  readonly userHome: string
  /** Makes the model's next call, and returns its result and the warnings that the user saw. */
  next(): Promise<{ readonly result: string; readonly warnings: string }>
}

/** A repository with protected files, in which a model makes these calls. Nothing is asked. */
async function project(calls: readonly ReplyTurn[], config = "terminal: {sandbox: required}\n"): Promise<Project> {
  const script = calls.flatMap((call) => [call, says("Done.")])
  const assembled: AssembledApp = await assembleApp(script, { config, workFiles: { ".mcp.json": "{}\n" } })
  const { workdir } = assembled.home
  createRepository(workdir, {})
  const userHome = assembled.home.env["HOME"] ?? ""
  mkdirSync(userHome, { recursive: true })
  writeFileSync(join(userHome, ".bashrc"), "echo mine\n")
  const session = await assembled.open({ permissionProfile: "full-auto" })
  let index = -1
  return {
    workdir,
    userHome,
    next: async () => {
      index += 2
      const { events } = await runToEnd(session, "go")
      const warnings = events.flatMap((event) =>
        event.type === "status" && event.kind === "warning" ? [event.text] : [],
      )
      return { result: assembled.model.toolResults(index).at(-1)?.text ?? "", warnings: warnings.join("\n") }
    },
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

const runs = (command: string): ReplyTurn => callsTool("terminal", { command })

describe.skipIf(missing !== undefined)(titleWithReason("hard links in the sandbox", missing), () => {
  test("a protected file gets no second name", async () => {
    const links = ["~/.bashrc", ".git/config", ".git/hooks/pre-push", ".mcp.json", "/etc/passwd"]
    await using opened = await project([runs(links.map((path, index) => `ln ${path} second-${index}`).join("; "))])
    writeFileSync(join(opened.workdir, ".git/hooks/pre-push"), "true\n")
    const { result } = await opened.next()
    expect(result.match(/Invalid cross-device link/gu)).toHaveLength(links.length)
    expect(readdirSync(opened.workdir).filter((name) => name.startsWith("second"))).toEqual([])
  })

  test("a protected file that a command creates as a second name is renamed", async () => {
    const make =
      "echo a > first; ln first .envrc; mkdir .husky; ln first .husky/pre-commit; git init -q new; ln first new/.git/hooks/pre-push"
    await using opened = await project([runs(make), runs("echo b > first; ls -A . .husky"), runs("true")])
    const { warnings } = await opened.next()
    expect(warnings).toContain(".envrc, which other programs execute or obey, as a second name")
    expect(existsSync(join(opened.workdir, ".envrc"))).toBe(false)
    expect(existsSync(join(opened.workdir, ".husky/pre-commit"))).toBe(false)
    await opened.next()
    await opened.next()
    expect(existsSync(join(opened.workdir, "new/.git/hooks/pre-push"))).toBe(false)
  })

  test("a protected file that already has a second name is restored when a command writes it through that name", async () => {
    await using opened = await project([runs("echo evil > second; cat .mcp.json"), runs("echo evil > second")])
    const path = join(opened.workdir, ".mcp.json")
    linkSync(path, join(opened.workdir, "second"))
    const { warnings } = await opened.next()
    expect(warnings).toContain("was changed through another name of the same file")
    expect([readFileSync(path, "utf8"), statSync(path).nlink]).toEqual(["{}\n", 1])
    expect(readFileSync(`${path}.from-sandbox`, "utf8")).toBe("evil\n")
    await opened.next()
    expect(readFileSync(path, "utf8")).toBe("{}\n")
  })

  test("sockets between virtual machines are refused, and those of the network are not", async () => {
    // Perl is part of git's installation, in contrast to Python.
    const program = `for my $f (40, 1, 38, 2) { print $f, socket(my $s, $f, 1, 0) ? " ok" : " $!", "\\n" }`
    await using opened = await project([runs(`perl -e '${program}'`)])
    const { result } = await opened.next()
    expect(result).toContain(
      String.raw`40 Operation not permitted\n1 Operation not permitted\n38 Operation not permitted\n2 ok`,
    )
  })

  test("sockets between virtual machines stay refused where Unix sockets are allowed", async () => {
    const program = `for my $f (40, 1) { print $f, socket(my $s, $f, 1, 0) ? " ok" : " $!", "\\n" }`
    const config = "terminal: {sandbox: required, sandbox_sockets: [/run/example.sock]}\n"
    await using opened = await project([runs(`perl -e '${program}'`)], config)
    expect((await opened.next()).result).toContain(String.raw`40 Operation not permitted\n1 ok`)
  })
})

test.each([
  callsTool("write_file", { path: "second", content: "evil\n" }),
  callsTool("patch", { path: "second", old_string: "mine", new_string: "evil" }),
])("a file tool that writes a second name leaves the protected file as it was", async (call) => {
  await using opened = await project([callsTool("read_file", { path: "second" }), call], "terminal: {sandbox: off}\n")
  const target = join(opened.userHome, ".bashrc")
  linkSync(target, join(opened.workdir, "second"))
  await opened.next()
  await opened.next()
  expect(readFileSync(join(opened.workdir, "second"), "utf8")).toContain("evil")
  expect(readFileSync(target, "utf8")).toBe("echo mine\n")
})
