import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository, git } from "../../support/git-repository.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

async function open(commands: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const assembled = await assembleApp([], {
    config: "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\nmemory: {nudge_interval: 0}\n",
    workFiles: Object.fromEntries(commands.map((command, index) => [`step-${index}.sh`, `${command}\n`])),
  })
  const { workdir } = assembled.home
  const at = (name: string): string => join(workdir, name)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(at(name)), { recursive: true })
    writeFileSync(at(name), text)
  }
  return {
    workdir,
    at,
    has: (name: string) => lstatSync(at(name), { throwIfNoEntry: false }) !== undefined,
    /** Runs the commands in the sandbox, one turn each. Returns what the user sees in each turn. */
    run: async () => {
      const session = await assembled.open()
      const texts: string[] = []
      for (const index of commands.keys()) {
        assembled.model.push(callsTool("terminal", { command: `sh step-${index}.sh` }), says("Done."))
        const { events, end } = await runToEnd(session, "go on")
        const shown = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
        texts.push([...shown, ...(end.result.notes ?? [])].join("\n"))
      }
      await session.close("test_end")
      return texts
    },
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

/** A name that is not valid UTF-8. */
const bytesAt = (directory: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, "latin1")])

describe.skipIf(missing !== undefined)(titleWithReason("names that a search does not see", missing), () => {
  test("what is new under a name that is not valid UTF-8 gets another name and is checked", async () => {
    await using opened = await open([
      String.raw`b=$(printf 'bad\377'); i=$(printf 'in\376'); mkdir -p "$b/$i" y "sub$b" "build/$b"
echo x > "$b/.envrc"; echo x > "$b/AGENTS.md"; echo x > "$b/$i/.envrc"; echo x > "$b.code-workspace"; echo x > "y/$i.code-workspace"; echo data > "$b.txt"
git init -q "sub$b"; git -C "sub$b" config core.fsmonitor ./evil
git init -q "build/$b/r"; git -C "build/$b/r" -c user.name=x -c user.email=x@y commit -q --allow-empty -m x
git update-index --add --cacheinfo 160000,$(git -C "build/$b/r" rev-parse HEAD),"build/$b/r"`,
      "true",
    ])
    createRepository(opened.workdir)
    // It was there before, and nothing can be mounted over it.
    mkdirSync(bytesAt(opened.workdir, "caf\u00E9"))
    writeFileSync(bytesAt(opened.workdir, "caf\u00E9/.envrc"), "mine\n")
    const [first = "", second = ""] = await opened.run()
    const kept = [
      "bad%FF/.envrc",
      "bad%FF/AGENTS.md",
      "bad%FF/in%FE/.envrc",
      "bad%FF.code-workspace",
      "y/in%FE.code-workspace",
    ]
    expect(kept.filter(opened.has)).toEqual([])
    expect(kept.filter((name) => !opened.has(`${name}.from-sandbox`))).toEqual([])
    expect(readFileSync(opened.at("subbad%FF/.git/config.from-sandbox"), "utf8")).toContain("fsmonitor")
    expect(opened.has("build/bad%FF/r")).toBe(true)
    expect(readFileSync(bytesAt(opened.workdir, "bad\u00FF.txt"), "utf8")).toBe("data\n")
    expect(readFileSync(bytesAt(opened.workdir, "caf\u00E9/.envrc"), "utf8")).toBe("mine\n")
    expect(first).toContain("bad%FF")
    expect(first).toContain("caf%E9")
    expect(second).not.toContain("caf%E9")
  })

  test("a submodule that was there before and whose name is not valid UTF-8 is reported", async () => {
    await using opened = await open(["git add step-0.sh"])
    const root = createRepository(opened.workdir)
    git(root, "update-index", "--add", "--cacheinfo", `160000,${git(root, "rev-parse", "HEAD")},sub?`)
    const index = opened.at(".git/index")
    writeFileSync(index, Buffer.from(readFileSync(index).toString("latin1").replace("sub?", "sub\u00FF"), "latin1"))
    mkdirSync(bytesAt(opened.workdir, "sub\u00FF"))
    const [texts = ""] = await opened.run()
    expect(texts).toContain("lists the submodule sub%FF")
    expect(existsSync(bytesAt(opened.workdir, "sub\u00FF"))).toBe(true)
  })

  test("what a new link leads to is checked, also in directories that the search leaves out", async () => {
    await using opened = await open(
      [
        "mkdir -p node_modules/l build/r/.git; echo x > node_modules/l/.envrc; ln -s node_modules/l linkd; ln -s ../node_modules/mine src/link; ln -s node_modules/empty later",
        "echo x > node_modules/empty/.envrc; echo x > node_modules/known/CLAUDE.md",
      ],
      { "node_modules/mine/.envrc": "mine\n", "node_modules/empty/x": "", "node_modules/known/x": "", "src/a.txt": "" },
    )
    symlinkSync("node_modules/known", opened.at("old-link"))
    const [first = "", second = ""] = await opened.run()
    expect(
      ["linkd", "src/link", "node_modules/empty/.envrc", "node_modules/known/CLAUDE.md"].filter(opened.has),
    ).toEqual([])
    expect(
      ["linkd.from-sandbox", "later", "old-link", "node_modules/mine/.envrc"].filter((name) => !opened.has(name)),
    ).toEqual([])
    expect(first).toContain("/linkd appeared")
    expect(second).toContain("/later/.envrc appeared")
  })

  test("files in the place of repositories that were known do not stop the checks", async () => {
    await using opened = await open([
      "cd a/b/c/d/e; mv one moved; echo x > one; mv two old; mkfifo two; cd -; echo evil > .envrc",
      "echo evil > .envrc",
    ])
    for (const name of ["one", "two"]) createRepository(opened.at(`a/b/c/d/e/${name}`))
    const appeared = expect.stringContaining("/.envrc appeared")
    expect(await opened.run()).toEqual([appeared, appeared])
    expect(opened.has(".envrc")).toBe(false)
    expect(readdirSync(opened.at("a/b/c/d/e")).toSorted()).toEqual(["moved", "old", "one", "two"])
  })

  test("a name that is too long for an ending gets a shorter one", async () => {
    await using opened = await open([
      `n=$(printf %0240d 0).code-workspace; echo x > $n; for i in $(seq 30); do echo x > mise.toml.from-sandbox-$i; done; echo x > mise.toml.from-sandbox; echo x > mise.toml`,
    ])
    const [texts = ""] = await opened.run()
    const names = readdirSync(opened.workdir)
    expect(names.filter((name) => name.endsWith(".code-workspace") || name === "mise.toml")).toEqual([])
    expect(names.filter((name) => /^0+\.?[a-z-]*\.from-sandbox$/u.test(name))).toHaveLength(1)
    expect(texts).not.toContain("could not rename")
  })
})
