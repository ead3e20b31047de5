import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { fail, ok } from "../base/result.ts"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../test/support/temporary-home.ts"
import { createLocalWorkspace } from "./local/local-workspace.ts"
import type { LocalWorkspaceOptions } from "./local/local-workspace.ts"
import { createStateFiles } from "./shell-state-files.ts"
import { createMarkerFilter, cwdMarker } from "./shell-state-marker.ts"
import { statefulScript } from "./shell-state.ts"
import type { CommandExit, RunOptions } from "./workspace.ts"

async function shell(options: { startup?: Record<string, string>; more?: Partial<LocalWorkspaceOptions> } = {}) {
  const place = await temporaryHome()
  for (const [name, text] of Object.entries(options.startup ?? {})) await writeFile(join(place.userHome, name), text)
  const workspace = createLocalWorkspace({
    cwd: place.workdir,
    userHome: place.userHome,
    environment: place.env,
    ...options.more,
  })
  const run = async (command: string, more: Partial<RunOptions> = {}): Promise<CommandExit> =>
    await workspace.run(command, {
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      keepChars: 50_000,
      keepState: true,
      ...more,
    }).exit
  return {
    place,
    workspace,
    run,
    output: async (command: string): Promise<string> => (await run(command)).output,
    async [Symbol.asyncDispose]() {
      await workspace.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

test.each([
  ["cd", "cd /usr/bin", "pwd", "/usr/bin\n"],
  ["cd -", "cd /usr; cd /tmp", "cd -", "/usr\n"],
  ["export", "export A='one\ntwo'", 'echo "$A"', "one\ntwo\n"],
  ["unset of an inherited variable", "unset LANG", "echo [$LANG]", "[]\n"],
  ["unset of an own variable", "export A=1; unset A", "echo [$A]", "[]\n"],
  ["function", 'f() { echo "f: $1"; }', "f x", "f: x\n"],
  ["exported function", "f() { echo f; }; export -f f", "bash -c f", "f\n"],
  [
    "function with an extended pattern",
    "shopt -s extglob\nf() { case $1 in +(a|b)) echo yes; esac; }",
    "f ab",
    "yes\n",
  ],
  ["alias", "alias hi='echo hello'", "hi you", "hello you\n"],
  ["unalias", "alias hi='echo hello'; unalias hi", "type hi 2>&1 | tail -c 10", "not found\n"],
  ["a state before exit", "cd /usr; export A=1; exit 3", "pwd; echo $A", "/usr\n1\n"],
  ["a state before a failure under set -e", "set -e; cd /usr; false; cd /", "pwd", "/usr\n"],
  ["options do not last", "set -eu", "echo [$NOT_SET]; false; echo on", "[]\non\n"],
  ["noclobber does not hinder", "set -C; cd /usr", "pwd", "/usr\n"],
  ["a redirected output stays a file's own", "cd /usr; exec >/dev/null; echo x", "pwd", "/usr\n"],
  ["a trap of the command itself", "trap 'echo bye' EXIT; cd /usr", "pwd", "/usr\n"],
])("%s: what one command leaves, the next one finds", async (_what, first, second, expected) => {
  await using bash = await shell()
  await bash.run(first)
  expect(await bash.output(second)).toBe(expected)
})

test.each([
  ["printf x", "x"],
  ["set -x; true", "++ true\n"],
  ["trap 'echo bye' EXIT; echo hi", "hi\nbye\n"],
  ["echo $#", "0\n"],
  ["env | grep -c __hermes", "0\n"],
  [
    "false; nosuch1\n\nnosuch2",
    "/bin/bash: line 1: nosuch1: command not found\n/bin/bash: line 3: nosuch2: command not found\n",
  ],
])("%j says nothing but its own", async (command, expected) => {
  await using bash = await shell()
  expect(await bash.output(command)).toBe(expected)
})

test("cd and pwd may be overridden by functions of the person", async () => {
  await using bash = await shell({ startup: { ".bashrc": "cd() { echo mine; }; pwd() { echo mine; }\n" } })
  expect(await bash.output("builtin cd /usr; cd x; pwd")).toBe("mine\nmine\n")
  expect(bash.workspace.cwd()).toBe("/usr")
})

test("exit codes pass, and a command that kills its shell harms nothing", async () => {
  await using bash = await shell()
  expect((await bash.run("export A=1; exit 3")).code).toBe(3)
  expect((await bash.run("if")).code).toBe(2)
  expect((await bash.run("kill -KILL $$")).code).toBe(137)
  expect((await bash.run("exec sh -c 'exit 7'")).code).toBe(7)
  expect(await bash.output("echo $A")).toBe("1\n")
})

test("a command that times out leaves nothing half-written", async () => {
  await using bash = await shell()
  await bash.run("export A=1")
  const exit = await bash.run("export A=2; trap '' TERM; while :; do sleep 0.1; done", { timeoutMs: 300 })
  expect([exit.how, await bash.output("echo $A")]).toEqual(["timed-out", "1\n"])
})

test("commands side by side do not read each other's half state", async () => {
  await using bash = await shell()
  await bash.run("export A=0; cd /usr")
  const outputs = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => await bash.output(`echo $A; export A=${index + 1}`)),
  )
  expect(outputs.every((output) => /^\d\n$/.test(output))).toBe(true)
  expect(await bash.output("echo ${A:+set}; pwd")).toBe("set\n/usr\n")
})

test("internal commands see none of it and leave nothing, but start in the directory", async () => {
  await using bash = await shell()
  await bash.run("cd /usr; export A=1")
  expect(await bash.run("echo [$A]; pwd; cd /; export B=1", { keepState: false })).toMatchObject({
    output: "[]\n/usr\n",
  })
  expect(await bash.output("echo [$B]; pwd")).toBe("[]\n/usr\n")
})

test("a directory for one command is not kept, unless the command goes on from there", async () => {
  await using bash = await shell()
  const { workdir } = bash.place
  await mkdir(join(workdir, "real"))
  await symlink("real", join(workdir, "link"))
  expect((await bash.run("pwd", { cwd: join(workdir, "link") })).output).toBe(`${workdir}/link\n`)
  expect(await bash.output("pwd")).toBe(`${workdir}\n`)
  await bash.run("cd ..", { cwd: "/usr/bin" })
  expect(await bash.output("pwd")).toBe("/usr\n")
})

test("a removed working directory is replaced by the nearest one, which is said once", async () => {
  await using bash = await shell()
  const { workdir } = bash.place
  await bash.run("mkdir -p a/b; cd a/b; rm -rf ../../a")
  expect(await bash.run("pwd")).toMatchObject({
    output: `${workdir}\n`,
    cwdNote: `The working directory ${workdir}/a/b does not exist any more; the command ran in ${workdir}.`,
  })
  expect(await bash.run("pwd")).toEqual({ how: "exited", code: 0, output: `${workdir}\n`, omittedChars: 0 })
})

test("start-up files are read once; their functions come along, secrets do not", async () => {
  await using bash = await shell({
    startup: {
      ".profile": "echo noise; export EDITOR=ed; export PATH=/from/profile\n",
      ".bashrc":
        "greet() { echo hello; }; _hidden() { :; }; alias ll=true; echo x >> ~/read\n" +
        "export MY_API_KEY=k-123 HERMES_HOME=/elsewhere HOME=/elsewhere; exit 5\n",
    },
  })
  expect(
    await bash.output("greet; echo $EDITOR; echo [$MY_API_KEY] $HERMES_HOME $HOME; type _hidden 2>&1 | tail -c 10"),
  ).toBe(`hello\ned\n[] ${bash.place.path} ${bash.place.userHome}\nnot found\n`)
  expect((await bash.output("echo $PATH; cat ~/read")).split("\n").slice(0, 2)).toEqual([
    `/from/profile:${bash.place.env["PATH"]}`,
    "x",
  ])
})

test("start-up files that are refused or hang cost nothing more than their time", async () => {
  await using bash = await shell({ startup: { ".bashrc": "export EDITOR=ed\n" }, more: { startupFiles: [] } })
  expect(await bash.output("echo [$EDITOR]")).toBe("[]\n")
  await using hanging = await shell({ startup: { ".bashrc": "while :; do sleep 1; done\n" } })
  const exit = await hanging.run("echo hi", { signal: AbortSignal.timeout(300) })
  expect(exit).toEqual({ how: "interrupted", code: 130, output: "", omittedChars: 0 })
})

test("without a persistent shell every command starts afresh, after the same start-up files", async () => {
  await using bash = await shell({ startup: { ".bashrc": "f() { echo f; }\n" }, more: { persistentShell: false } })
  await bash.run("cd /usr; export A=1")
  expect(await bash.output("pwd; echo [$A]; f")).toBe(`${bash.place.workdir}\n[]\nf\n`)
})

test("what a sandbox is given to start can write the state", async () => {
  const places: { cwd: string; stateDirectory: string }[] = []
  await using bash = await shell({
    more: {
      openSandbox: () =>
        Promise.resolve(
          ok((place) => {
            places.push(place)
            return ["/usr/bin/env", "INSIDE=yes"]
          }),
        ),
    },
  })
  await bash.run("cd /usr")
  expect(await bash.output("pwd; echo $INSIDE")).toBe("/usr\nyes\n")
  expect((await bash.run("echo $INSIDE", { keepState: false })).output).toBe("yes\n")
  expect(places.every(({ stateDirectory }) => existsSync(stateDirectory))).toBe(true)
})

test("a sandbox that is wanted and cannot be had keeps every command from running", async () => {
  await using bash = await shell({ more: { openSandbox: () => Promise.resolve(fail("there are no walls")) } })
  for (const keepState of [true, false]) {
    expect(await bash.run("touch made", { keepState })).toMatchObject({
      how: "failed-to-start",
      error: "there are no walls",
    })
  }
  expect(existsSync(join(bash.place.workdir, "made"))).toBe(false)
})

test("closing leaves no file behind", async () => {
  let directory = ""
  const bash = await shell({
    more: {
      openSandbox: () =>
        Promise.resolve(
          ok(({ stateDirectory }) => {
            directory = stateDirectory
            return []
          }),
        ),
    },
  })
  await bash.run("true")
  expect(existsSync(directory)).toBe(true)
  await bash[Symbol.asyncDispose]()
  expect([existsSync(directory), (await bash.run("true")).how]).toEqual([false, "interrupted"])
})

test.each([
  ["sh", "cd /usr; exit 4", 4, "", "/usr"],
  ["sh", "cd /usr; printf x", 0, "x", "/usr"],
  ["bash", "cd /usr; printf x; exit 4", 4, "x", "/usr"],
  ["bash", "export A=1", 0, "", undefined],
] as const)("%s prints its directory where nobody can read files: %s", async (kind, command, code, said, reached) => {
  await using place: TemporaryHome = await temporaryHome()
  const marker = cwdMarker("s-1")
  const to = join(place.path, "state")
  const script = statefulScript({ command, shell: kind, cwd: place.workdir, to, marker })
  const ended = await promisify(execFile)(`/bin/${kind}`, ["-c", script]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string },
  )
  const filter = createMarkerFilter(marker)
  const shown =
    ended.stdout
      .split("")
      .map((piece) => filter.push(piece))
      .join("") + filter.end()
  expect([ended.code, shown, filter.cwd()]).toEqual([code, said, reached ?? place.workdir])
  expect(await readFile(`${to}.cwd`, "utf8")).toBe(`${reached ?? place.workdir}\n\0`)
})

test("a command whose directory cannot be entered ends with 126", async () => {
  const script = statefulScript({ command: "true", shell: "sh", cwd: "/no/such" })
  await expect(promisify(execFile)("/bin/sh", ["-c", script])).rejects.toMatchObject({ code: 126 })
})

test("text that only looks like a report is shown", () => {
  const filter = createMarkerFilter("__M__")
  expect(filter.push("a __") + filter.push("M_ b __M__ open")).toBe("a __M_ b ")
  expect(filter.end()).toBe("__M__ open")
  expect(filter.push(`__M__${"x".repeat(20_000)}`)).toHaveLength(20_005)
  expect(filter.cwd()).toBeUndefined()
})

test("a state file is not used again while somebody may read or write it", () => {
  const files = createStateFiles("/s")
  const first = files.begin()
  const second = files.begin()
  expect([first.from, first.to, second.to]).toEqual([undefined, "/s/state-0", "/s/state-1"])
  first.adopt()
  first.release()
  second.release()
  const third = files.begin()
  expect([third.from, third.to]).toEqual(["/s/state-0", "/s/state-1"])
  third.adopt()
  third.release()
  expect([files.current(), files.begin().to]).toEqual(["/s/state-1", "/s/state-0"])
})

// The first is run by a new shell, the second by one that was waiting for it.
test("what a command says to both of its streams stays in the order in which it was said", async () => {
  await using bash = await shell()
  const command = "for n in 1 2 3; do echo out $n; echo err $n >&2; done"
  const said = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
  expect([await bash.output(command), await bash.output(command)]).toEqual([said, said])
})

test("a quote that was never closed is the only thing bash complains about", async () => {
  await using bash = await shell()
  const command = "echo 'open"
  const complaint = "/bin/bash: eval: line 1: unexpected EOF while looking for matching `''\n"
  const outputs = [await bash.run(command), await bash.run(command)].map(({ code, output }) => ({
    code,
    output: output.replace("/usr/bin/bash", "/bin/bash"),
  }))
  expect(outputs).toEqual([
    { code: 2, output: complaint },
    { code: 2, output: complaint },
  ])
})

// Sockets cannot be opened by name; pipes can.
test("a command writes to its output by name", async () => {
  await using bash = await shell({ more: { startupFiles: [] } })
  const command = "echo one >/dev/stdout; echo two >/dev/stderr; echo three | tee /dev/stderr >/dev/null"
  expect([await bash.output(command), await bash.output(command)]).toEqual(["one\ntwo\nthree\n", "one\ntwo\nthree\n"])
})

test("a command in the background writes to its output by name, and its errors can be heard apart", async () => {
  await using bash = await shell()
  const heard = { onOutput: "", onErrorOutput: "" }
  const both = await bash.workspace.start("echo out; echo err >/dev/stderr", {
    pty: false,
    onOutput: (text) => {
      heard.onOutput += text
    },
  })
  expect(await both.exit).toEqual({ how: "exited", code: 0 })
  expect(heard).toEqual({ onOutput: "out\nerr\n", onErrorOutput: "" })
  const apart = await bash.workspace.start("echo out; echo err >&2", {
    pty: false,
    onOutput: (text) => {
      heard.onOutput += text
    },
    onErrorOutput: (text) => {
      heard.onErrorOutput += text
    },
  })
  expect(await apart.exit).toEqual({ how: "exited", code: 0 })
  expect(heard).toEqual({ onOutput: "out\nerr\nout\n", onErrorOutput: "err\n" })
})
