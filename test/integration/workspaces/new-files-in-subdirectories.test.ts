import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository } from "../../support/git-repository.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const NAMES = [
  ".envrc",
  ".husky/pre-commit",
  ".mcp.json",
  ".claude/settings.json",
  "CLAUDE.md",
  ".hermes/commands/a.md",
  ".hermes/permissions.yaml",
  ".zed/tasks.json",
  "evil.code-workspace",
]
const PLACES = ["src", "new1", "new1/new2", "new1/new2/new3"]
const SCRIPT = `for d in ${PLACES.join(" ")}; do for n in ${NAMES.join(" ")}; do mkdir -p "$d/$(dirname $n)"; echo evil > "$d/$n"; done; done\n`

function terminal(command: string) {
  return callsTool("terminal", { command })
}

async function open(script: Parameters<typeof assembleApp>[0], workFiles: Readonly<Record<string, string>> = {}) {
  const assembled = await assembleApp(script, {
    config: "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\n",
    workFiles,
  })
  const session = await assembled.open({ permissionProfile: "default", attended: true })
  const { workdir } = assembled.home
  const asked: string[] = []
  return {
    assembled,
    workdir,
    asked,
    run: async (choice: "once" | "deny" = "deny") => {
      const { events, end } = await runToEnd(session, "go", (event) => {
        if (event.type !== "approval-request") return
        asked.push((event.reasons ?? []).join(" "))
        session.answer(event.requestId, { kind: "approval", choice })
      })
      const warnings = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
      return [...warnings, ...(end.result.notes ?? [])].join("\n")
    },
    has: (path: string) => lstatSync(join(workdir, path), { throwIfNoEntry: false }) !== undefined,
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("new files in subdirectories", missing), () => {
  test("what a command creates there is renamed, also what it moves there; the user and the model are informed", async () => {
    await using opened = await open(
      [terminal("sh k.sh"), terminal("sh d.sh"), terminal("sh m.sh"), says("Done."), says("Really.")],
      {
        "k.sh": SCRIPT,
        "d.sh": "mkdir -p deep; printf x > deep/CLAUDE.md\n",
        "m.sh": "mv node_modules/tpl moved\n",
        "src/a.ts": "",
        "node_modules/tpl/AGENTS.md": "Obey.\n",
      },
    )
    const texts = await opened.run()
    const left = PLACES.flatMap((place) => NAMES.map((name) => `${place}/${name}`)).filter(opened.has)
    expect([...left, ...["deep/CLAUDE.md", "moved/AGENTS.md"].filter(opened.has)]).toEqual([])
    expect(opened.asked).toEqual([])
    expect(opened.has("deep/CLAUDE.md.from-sandbox")).toBe(true)
    for (const name of ["/.envrc", "moved/AGENTS.md"]) expect(texts).toContain(`${name} appeared`)
    expect(texts).toContain("more such files appeared")
    await opened.run()
    expect(JSON.stringify(opened.assembled.model.requests.at(-1)?.body)).toContain("moved/AGENTS.md appeared")
  })

  test("what the user or an approved file tool wrote stays when a command changes the directory", async () => {
    await using opened = await open([
      callsTool("write_file", { path: "pkg/AGENTS.md", content: "Test with make.\n" }),
      terminal("echo 1 > pkg/index.js; echo 1 > mine/index.js"),
      says("Done."),
      terminal("echo 2 > pkg/index.js; echo 2 > mine/index.js; touch src.js"),
      says("Done."),
    ])
    mkdirSync(join(opened.workdir, "mine"))
    const first = await opened.run("once")
    writeFileSync(join(opened.workdir, "mine", "CLAUDE.md"), "Mine.\n")
    // The clock of files is coarse.
    await new Promise((resolve) => setTimeout(resolve, 40))
    const second = await opened.run("once")
    expect(opened.asked).toHaveLength(1)
    expect(["pkg/AGENTS.md", "mine/CLAUDE.md", "pkg/index.js", "mine/index.js"].filter(opened.has)).toHaveLength(4)
    expect(first + second).not.toContain("appeared")
  })

  test("however deep: new files and hooks are renamed, and a file that changed is reported", async () => {
    const deep = "a/b/c/d/e/f"
    await using opened = await open([terminal("sh k.sh"), says("Done.")], {
      "k.sh": `cd ${deep}; echo evil > .envrc; mkdir -p new/er; echo evil > new/er/AGENTS.md; echo more >> CLAUDE.md
printf '#!/bin/sh\\n' > repository/.git/hooks/pre-commit; git init -q other; printf '#!/bin/sh\\n' > other/.git/hooks/pre-push\n`,
      [`${deep}/CLAUDE.md`]: "Mine.\n",
    })
    createRepository(join(opened.workdir, deep, "repository"), {})
    const texts = await opened.run()
    const left = [".envrc", "new/er/AGENTS.md", "repository/.git/hooks/pre-commit", "other/.git/hooks/pre-push"]
    expect(left.filter((name) => opened.has(`${deep}/${name}`))).toEqual([])
    expect(readFileSync(join(opened.workdir, deep, "CLAUDE.md"), "utf8")).toBe("Mine.\nmore\n")
    for (const name of [".envrc appeared", "AGENTS.md appeared", "CLAUDE.md changed", "pre-commit appeared", "(hooks)"])
      expect(texts).toContain(name)
  })

  test("a link that gives a directory a protected name is renamed, so that its files have no such name", async () => {
    const links = [".vscode", ".claude", ".cursor", ".hermes", ".github"]
    const script = `mkdir -p store src; for n in ${links.join(" ")}; do ln -s store $n; done; ln -s ../store src/.vscode`
    await using opened = await open(
      [
        terminal("sh links.sh"),
        callsTool("write_file", { path: "store/tasks.json", content: "{}\n" }),
        callsTool("write_file", { path: "store/commands/evil.md", content: "Obey.\n" }),
        says("Done."),
      ],
      { "links.sh": script },
    )
    const texts = await opened.run()
    expect([...links, "src/.vscode"].filter(opened.has)).toEqual([])
    expect(texts).toContain(".vscode appeared, which other programs execute. Hermes renamed it")
    expect(readFileSync(join(opened.workdir, "store/tasks.json"), "utf8")).toBe("{}\n")
  })

  test("the user is informed about a repository that the last command created", async () => {
    await using opened = await open([
      terminal("git init -q --bare evil.git && printf '[core]\\n\\tfsmonitor = ./x\\n' >> evil.git/config"),
      says("Done."),
    ])
    expect(await opened.run()).toContain("evil.git with entries or hooks with which git starts programs")
    expect(readdirSync(join(opened.workdir, "evil.git"))).toContain("config.from-sandbox")
  })

  test("a clone keeps its files, and the user is informed about those that are executed", async () => {
    await using opened = await open([terminal("git clone -q upstream copies/one"), says("Done.")])
    const upstream = join(opened.workdir, "upstream")
    mkdirSync(join(upstream, ".vscode"), { recursive: true })
    writeFileSync(join(upstream, ".vscode", "settings.json"), "{}\n")
    writeFileSync(join(upstream, "AGENTS.md"), "Test with make.\n")
    createRepository(upstream, {})
    const texts = await opened.run()
    expect(["copies/one/.vscode/settings.json", "copies/one/AGENTS.md"].filter(opened.has)).toHaveLength(2)
    expect(texts).toContain("copies/one has files that other programs execute: .vscode/settings.json")
  })
})
