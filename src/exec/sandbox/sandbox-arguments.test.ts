import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { chooseSandbox } from "./sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

const signal = new AbortController().signal

test("a hidden path covers a writable one, and a writable path inside a hidden one stays writable", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  for (const name of ["root/.ssh/deep/project", "hermes", "root/hermes"]) await mkdir(at(name), { recursive: true })
  await writeFile(at("root/.netrc"), "")
  await symlink(at("root/.ssh"), at("link"))
  expect(
    sandboxArguments({
      program: "bwrap",
      writable: [at("root/.ssh/deep/project"), at("root"), at("missing"), "/"],
      // The first one is not inside a writable directory.
      readOnly: [at("hermes"), at("root/hermes")],
      hidden: [at("link"), at("root/.netrc"), at("root/.aws")],
      shown: [],
      network: false,
      cwd: at("root"),
    }),
  ).toEqual(
    [
      "bwrap --ro-bind / / --dev /dev --proc /proc",
      "--ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger",
      `--bind ${at("root")} ${at("root")}`,
      `--perms 0555 --tmpfs ${at("root/.ssh")}`,
      `--ro-bind ${at("root/hermes")} ${at("root/hermes")}`,
      `--ro-bind /dev/null ${at("root/.netrc")}`,
      `--bind ${at("root/.ssh/deep/project")} ${at("root/.ssh/deep/project")}`,
      "--unshare-user-try --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net",
      `--cap-drop ALL --die-with-parent --new-session --chdir ${at("root")} --`,
    ].flatMap((line) => line.split(" ")),
  )
})

test("of nested paths the innermost decides, and a read-only path inside a hidden one stays hidden", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  for (const name of ["tree/git/own", "hidden/read"]) await mkdir(at(name), { recursive: true })
  await writeFile(at("tree/git/own/fixed"), "")
  const words = sandboxArguments({
    program: "bwrap",
    writable: [at("tree/git/own"), home.workdir],
    readOnly: [at("tree/git/own/fixed"), at("hidden/read"), at("tree")],
    hidden: [at("hidden")],
    shown: [],
    network: true,
    cwd: "/",
  })
  const mounts = words.flatMap((word, index) =>
    word.startsWith(home.workdir) && words[index + 1] !== word
      ? [`${words[index - 1] === word ? words[index - 2] : words[index - 1]} ${word}`]
      : [],
  )
  expect(mounts).toEqual([
    `--bind ${home.workdir}`,
    `--ro-bind ${at("tree")}`,
    `--tmpfs ${at("hidden")}`,
    `--bind ${at("tree/git/own")}`,
    `--ro-bind ${at("tree/git/own/fixed")}`,
  ])
})

test("a shown path inside a hidden one is mounted again, a link as its target", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  for (const name of ["hidden/skills", "elsewhere"]) await mkdir(at(name), { recursive: true })
  await symlink(at("elsewhere"), at("hidden/link"))
  const words = sandboxArguments({
    program: "bwrap",
    writable: [],
    readOnly: [],
    hidden: [at("hidden")],
    shown: [at("hidden/skills"), at("hidden/link"), at("hidden/gone")],
    network: true,
    cwd: "/",
  })
  expect(words.join(" ")).toContain(
    `--tmpfs ${at("hidden")} --ro-bind ${at("elsewhere")} ${at("hidden/link")} --ro-bind ${at("hidden/skills")} ${at("hidden/skills")}`,
  )
})

test("the network and the terminal are isolated unless the options keep them", () => {
  const base = { program: "bwrap", writable: [], readOnly: [], hidden: [], shown: [], cwd: "/" }
  const unisolated = sandboxArguments({ ...base, network: true, keepTerminal: true })
  const isolated = sandboxArguments({ ...base, network: false })
  expect(isolated.filter((word) => !unisolated.includes(word))).toEqual(["--unshare-net", "--new-session"])
})

test("without bubblewrap, auto runs commands with a note and required fails", async () => {
  const homes = { userHome: "/nowhere", hermesHome: "/nowhere/.hermes", hermesRoot: "/nowhere/.hermes" }
  const settings = { network: true, writable: [], homes, path: "/nowhere", signal }
  const reason = "bubblewrap is not installed; install the package bubblewrap, or set terminal.sandbox to off"
  expect([
    await chooseSandbox({ ...settings, mode: "off" }),
    await chooseSandbox({ ...settings, mode: "auto" }),
    await chooseSandbox({ ...settings, mode: "required" }),
  ]).toEqual([
    { ok: true, value: { kind: "off" } },
    { ok: true, value: { kind: "unavailable", note: `Commands run without a sandbox: ${reason}.` } },
    { ok: false, error: `commands must run in the sandbox, but ${reason}` },
  ])
})

test("a hidden path inside a hidden directory is mounted only if it lies in a directory that is shown again", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  for (const name of ["hidden/shown/secrets", "hidden/other"]) await mkdir(at(name), { recursive: true })
  for (const name of ["hidden/key", "hidden/shown/key", "hidden/shown/secrets/key"]) await writeFile(at(name), "")
  const words = sandboxArguments({
    program: "bwrap",
    writable: [],
    readOnly: [],
    hidden: ["hidden", "hidden/key", "hidden/shown/key", "hidden/shown/secrets", "hidden/shown/secrets/key"].map(at),
    shown: [at("hidden/shown")],
    network: true,
    cwd: "/",
  })
  const mounted = words.filter((word) => word.startsWith(home.workdir)).map((word) => word.slice(home.workdir.length))
  expect(mounted).toEqual(["/hidden", "/hidden/shown", "/hidden/shown", "/hidden/shown/key", "/hidden/shown/secrets"])
})
