import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { expect, test } from "vitest"

import { createRepository } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createProjectIndex } from "../project/project-index.ts"
import { createSubmoduleLookup } from "../project/submodule-paths.ts"
import { CLOCK_TICK_MS } from "../project/time-of-change.ts"
import { checkNewRepositories } from "./new-repositories.ts"
import type { KnownRepositories } from "./new-repositories.ts"

const HOSTILE = "[core]\n\tfsmonitor = evil\n"

/** A project with two known repositories whose files are not remembered: `mine` was there before the session, `new` was not. */
async function open() {
  const home = await temporaryHome()
  const root = home.workdir
  const at = (name: string): string => join(root, name)
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(at(name)), { recursive: true })
    writeFileSync(at(name), text)
  }
  for (const name of ["mine", "new"]) createRepository(at(name))
  const options = {
    root,
    known: new Set([root, at("mine"), at("new")]),
    created: new Set([at("new")]),
    remembered: new Set<string>(),
    opened: [],
    writable: { directories: [root], except: [] },
    wasComplete: true,
    submodules: createSubmoduleLookup(process.env["PATH"] ?? ""),
    reported: new Set<string>(),
  }
  return {
    at,
    write,
    text: (name: string) => readFileSync(at(name), "utf8"),
    /** Checks what a command does. */
    run: async (command: () => void, others: Partial<KnownRepositories> = {}): Promise<string> => {
      await sleep(3 * CLOCK_TICK_MS)
      const startedMs = Date.now()
      command()
      const search = await createProjectIndex(root).update()
      return (await checkNewRepositories({ ...options, startedMs, ...others }, search)).join("\n")
    },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  }
}

test("settings and hooks that were not remembered are renamed in a new repository, and reported in the user's", async () => {
  await using project = await open()
  const texts = await project.run(() => {
    for (const name of ["mine", "new"]) {
      appendFileSync(project.at(`${name}/.git/config`), HOSTILE)
      project.write(`${name}/.git/hooks/pre-commit`, "evil\n")
    }
  })
  expect(texts).toContain("new/.git with entries or hooks with which git starts programs (core.fsmonitor, hooks)")
  expect(texts).toContain("mine/.git changed")
  expect(["new/.git/config", "new/.git/hooks"].filter((name) => existsSync(project.at(name)))).toEqual([])
  expect(project.text("mine/.git/config")).toContain("fsmonitor")
  expect(project.text("mine/.git/hooks/pre-commit")).toBe("evil\n")
})

test("what was there before, remembered or opened is not reported, nor a harmless change; the same state is reported once", async () => {
  await using project = await open()
  for (const name of ["mine", "new"]) {
    appendFileSync(project.at(`${name}/.git/config`), HOSTILE)
    project.write(`${name}/.git/hooks/pre-commit`, "mine\n")
  }
  const configs = ["mine", "new"].map((name) => project.at(`${name}/.git/config`))
  const append = (text: string) => () => {
    for (const config of configs) appendFileSync(config, text)
  }
  const others = () => {
    project.write("mine/.git/index.lock", "")
    project.write("new/a.txt", "two\n")
  }
  expect(await project.run(others)).toBe("")
  expect(await project.run(append("# remembered\n"), { remembered: new Set(configs) })).toBe("")
  expect(await project.run(append("# opened\n"), { opened: configs })).toBe("")
  for (const config of configs) writeFileSync(config, "[core]\n")
  rmSync(project.at("new/.git/hooks"), { recursive: true })
  expect(await project.run(append("[user]\nname = Ada\n"))).toBe("")

  const replaced = () => {
    project.write("mine/new-file", "")
    project.write("mine/.git/new-file", "")
  }
  rmSync(project.at("new"), { recursive: true })
  expect(await project.run(replaced)).toContain("mine/.git changed")
  rmSync(project.at("mine/new-file"))
  expect(await project.run(replaced)).toBe("")
})

test("a git directory whose files are older than the command is checked when it gets the name of a known one", async () => {
  await using project = await open()
  for (const name of ["mine", "new"]) {
    project.write(`node_modules/${name}/config`, HOSTILE)
    project.write(`node_modules/around-${name}/.git/config`, HOSTILE)
  }
  const texts = await project.run(() => {
    for (const name of ["mine", "new"]) {
      rmSync(project.at(`${name}/.git`), { recursive: true })
      renameSync(project.at(`node_modules/${name}`), project.at(`${name}/.git`))
    }
  })
  expect(texts).toContain("mine/.git changed")
  expect(existsSync(project.at("new/.git/config"))).toBe(false)
  await project.run(() => {
    rmSync(project.at("new"), { recursive: true })
    renameSync(project.at("node_modules/around-new"), project.at("new"))
  })
  expect(existsSync(project.at("new/.git/config"))).toBe(false)
})

test("a new link instead of a known repository is renamed, and what is behind it stays", async () => {
  await using project = await open()
  appendFileSync(project.at("mine/.git/config"), HOSTILE)
  await project.run(() => {
    rmSync(project.at("new"), { recursive: true })
    symlinkSync(project.at("mine"), project.at("new"))
  })
  expect(existsSync(project.at("new"))).toBe(false)
  expect(project.text("mine/.git/config")).toContain("fsmonitor")
})

test("settings and hooks behind links are checked when the files there change", async () => {
  await using project = await open()
  mkdirSync(project.at("stored"))
  for (const name of ["config", "hooks"]) {
    renameSync(project.at(`new/.git/${name}`), project.at(`stored/${name}`))
    symlinkSync(project.at(`stored/${name}`), project.at(`new/.git/${name}`))
  }
  const texts = await project.run(() => {
    appendFileSync(project.at("stored/config"), HOSTILE)
    project.write("stored/hooks/pre-commit", "evil\n")
  })
  expect(texts).toContain("(core.fsmonitor, hooks)")
  expect(existsSync(project.at("new/.git/config"))).toBe(false)
})
