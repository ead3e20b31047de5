import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { fail, ok } from "../base/result.ts"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../test/support/temporary-home.ts"
import { createCwdMarkerFilter, cwdMarker } from "./cwd-marker.ts"
import { createLocalWorkspace } from "./local/local-workspace.ts"
import type { LocalWorkspaceOptions } from "./local/local-workspace.ts"
import { createStateFiles } from "./shell-state-files.ts"
import { statefulScript } from "./shell-state.ts"
import type { CommandExit, RunCommandOptions } from "./workspace.ts"

async function openShell(options: { startup?: Record<string, string>; more?: Partial<LocalWorkspaceOptions> } = {}) {
  const home = await temporaryHome()
  for (const [name, text] of Object.entries(options.startup ?? {})) await writeFile(join(home.userHome, name), text)
  const workspace = createLocalWorkspace({
    cwd: home.workdir,
    userHome: home.userHome,
    environment: home.env,
    ...options.more,
  })
  const run = async (command: string, more: Partial<RunCommandOptions> = {}): Promise<CommandExit> =>
    await workspace.run(command, {
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      keepChars: 50_000,
      keepState: true,
      ...more,
    }).exit
  return {
    home,
    workspace,
    run,
    output: async (command: string): Promise<string> => (await run(command)).output,
    async [Symbol.asyncDispose]() {
      await workspace.close()
      await home[Symbol.asyncDispose]()
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
  ["state before exit", "cd /usr; export A=1; exit 3", "pwd; echo $A", "/usr\n1\n"],
  ["state before a failure under set -e", "set -e; cd /usr; false; cd /", "pwd", "/usr\n"],
  ["shell options are reset", "set -eu", "echo [$NOT_SET]; false; echo on", "[]\non\n"],
  ["noclobber does not block the state file", "set -C; cd /usr", "pwd", "/usr\n"],
  ["a redirected stdout is not kept", "cd /usr; exec >/dev/null; echo x", "pwd", "/usr\n"],
  ["an exit trap set by the command", "trap 'echo bye' EXIT; cd /usr", "pwd", "/usr\n"],
])("the next command sees the state of the previous one: %s", async (_what, first, second, expected) => {
  await using bash = await openShell()
  await bash.run(first)
  expect(await bash.output(second)).toBe(expected)
})

test.each([
  ["true", 0],
  ["exit 7", 7],
  ["set -e; false; true", 1],
  ["trap 'exit 5' EXIT; true", 5],
  ["trap 'true; exit 9' EXIT; exit 3", 9],
  ["kill -9 $$", 137],
  ["exec sh -c 'exit 4'", 4],
  ["exec >&- 2>&-; sleep 0.1; exit 6", 6],
  ["set -a; exit 11", 11],
])("the exit code is that of the shell, however it ends: %s", async (command, code) => {
  await using bash = await openShell()
  // The second one is prewarmed.
  for (let round = 0; round < 2; round += 1) expect((await bash.run(command)).code).toBe(code)
  expect((await bash.run("true")).code).toBe(0)
})

test("allexport in one command does not change how the state of later ones is kept", async () => {
  await using bash = await openShell()
  await bash.run("set -a; A=1")
  await bash.run("export B=2; C=3; cd /usr")
  expect(await bash.output("echo $A $B [$C]; pwd; env | grep -c __hermes")).toBe("1 2 []\n/usr\n0\n")
})

test.each([
  ["printf x", "x"],
  ["set -x; true", "++ true\n"],
  ["set -x; exit 0", "++ exit 0\n"],
  ["trap 'echo bye' EXIT; echo hi", "hi\nbye\n"],
  ["echo $#", "0\n"],
  ["env | grep -c __hermes", "0\n"],
  [
    "false; nosuch1\n\nnosuch2",
    "/bin/bash: line 1: nosuch1: command not found\n/bin/bash: line 3: nosuch2: command not found\n",
  ],
])("%j prints nothing but its own output", async (command, expected) => {
  await using bash = await openShell()
  expect(await bash.output(command)).toBe(expected)
})

test("the user may override cd and pwd with functions", async () => {
  await using bash = await openShell({ startup: { ".bashrc": "cd() { echo mine; }; pwd() { echo mine; }\n" } })
  expect(await bash.output("builtin cd /usr; cd x; pwd")).toBe("mine\nmine\n")
  expect(bash.workspace.cwd()).toBe("/usr")
})

test("exit codes pass through, and a command that kills its shell does not damage the state", async () => {
  await using bash = await openShell()
  expect((await bash.run("export A=1; exit 3")).code).toBe(3)
  expect((await bash.run("if")).code).toBe(2)
  expect((await bash.run("kill -KILL $$")).code).toBe(137)
  expect((await bash.run("exec sh -c 'exit 7'")).code).toBe(7)
  expect(await bash.output("echo $A")).toBe("1\n")
})

test("a command that times out leaves no half-written state", async () => {
  await using bash = await openShell()
  await bash.run("export A=1")
  const exit = await bash.run("export A=2; trap '' TERM; while :; do sleep 0.1; done", { timeoutMs: 300 })
  expect([exit.how, await bash.output("echo $A")]).toEqual(["timed-out", "1\n"])
})

test("concurrent commands do not read each other's half-written state", async () => {
  await using bash = await openShell()
  await bash.run("export A=0; cd /usr")
  const outputs = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => await bash.output(`echo $A; export A=${index + 1}`)),
  )
  expect(outputs.every((output) => /^\d\n$/.test(output))).toBe(true)
  expect(await bash.output("echo ${A:+set}; pwd")).toBe("set\n/usr\n")
})

test("internal commands neither see nor change the state, but start in the current directory", async () => {
  await using bash = await openShell()
  await bash.run("cd /usr; export A=1")
  expect(await bash.run("echo [$A]; pwd; cd /; export B=1", { keepState: false })).toMatchObject({
    output: "[]\n/usr\n",
  })
  expect(await bash.output("echo [$B]; pwd")).toBe("[]\n/usr\n")
})

test("a directory given for one command is not kept, unless the command itself changes it", async () => {
  await using bash = await openShell()
  const { workdir } = bash.home
  await mkdir(join(workdir, "real"))
  await symlink("real", join(workdir, "link"))
  expect((await bash.run("pwd", { cwd: join(workdir, "link") })).output).toBe(`${workdir}/link\n`)
  expect(await bash.output("pwd")).toBe(`${workdir}\n`)
  await bash.run("cd ..", { cwd: "/usr/bin" })
  expect(await bash.output("pwd")).toBe("/usr\n")
})

test("a removed working directory is replaced by the nearest ancestor, with one note", async () => {
  await using bash = await openShell()
  const { workdir } = bash.home
  await bash.run("mkdir -p a/b; cd a/b; rm -rf ../../a")
  expect(await bash.run("pwd")).toMatchObject({
    output: `${workdir}\n`,
    cwdNote: `The working directory ${workdir}/a/b no longer exists; the command ran in ${workdir}.`,
  })
  expect(await bash.run("pwd")).toEqual({ how: "exited", code: 0, output: `${workdir}\n`, omittedChars: 0 })
})

test("start-up files are sourced once; their functions are kept, their secrets are not", async () => {
  await using bash = await openShell({
    startup: {
      ".profile": "echo noise; export EDITOR=ed; export PATH=/from/profile\n",
      ".bashrc":
        "greet() { echo hello; }; _hidden() { :; }; alias ll=true; echo x >> ~/read\n" +
        "export MY_API_KEY=k-123 HERMES_HOME=/elsewhere HOME=/elsewhere; exit 5\n",
    },
  })
  expect(
    await bash.output("greet; echo $EDITOR; echo [$MY_API_KEY] $HERMES_HOME $HOME; type _hidden 2>&1 | tail -c 10"),
  ).toBe(`hello\ned\n[] ${bash.home.path} ${bash.home.userHome}\nnot found\n`)
  expect((await bash.output("echo $PATH; cat ~/read")).split("\n").slice(0, 2)).toEqual([
    `/from/profile:${bash.home.env["PATH"]}`,
    "x",
  ])
})

test("start-up files can be switched off, and an interrupt ends waiting for ones that hang", async () => {
  await using bash = await openShell({ startup: { ".bashrc": "export EDITOR=ed\n" }, more: { startupFiles: [] } })
  expect(await bash.output("echo [$EDITOR]")).toBe("[]\n")
  await using hanging = await openShell({ startup: { ".bashrc": "while :; do sleep 1; done\n" } })
  const exit = await hanging.run("echo hi", { signal: AbortSignal.timeout(300) })
  expect(exit).toEqual({ how: "interrupted", code: 130, output: "", omittedChars: 0 })
})

test("without a persistent shell every command starts from the state after the start-up files", async () => {
  await using bash = await openShell({ startup: { ".bashrc": "f() { echo f; }\n" }, more: { persistentShell: false } })
  await bash.run("cd /usr; export A=1")
  expect(await bash.output("pwd; echo [$A]; f")).toBe(`${bash.home.workdir}\n[]\nf\n`)
})

test("the sandbox prefix starts the shell and receives an existing state directory", async () => {
  const contexts: { cwd: string; stateDirectory: string }[] = []
  await using bash = await openShell({
    more: {
      openSandbox: () =>
        Promise.resolve(
          ok((context) => {
            contexts.push(context)
            return ["/usr/bin/env", "INSIDE=yes"]
          }),
        ),
    },
  })
  await bash.run("cd /usr")
  expect(await bash.output("pwd; echo $INSIDE")).toBe("/usr\nyes\n")
  expect((await bash.run("echo $INSIDE", { keepState: false })).output).toBe("yes\n")
  expect(contexts.every(({ stateDirectory }) => existsSync(stateDirectory))).toBe(true)
})

test("no command runs when a required sandbox is unavailable", async () => {
  await using bash = await openShell({ more: { openSandbox: () => Promise.resolve(fail("there is no sandbox")) } })
  for (const keepState of [true, false]) {
    expect(await bash.run("touch made", { keepState })).toMatchObject({
      how: "failed-to-start",
      error: "there is no sandbox",
    })
  }
  expect(existsSync(join(bash.home.workdir, "made"))).toBe(false)
})

test("closing removes the state directory", async () => {
  let directory = ""
  const bash = await openShell({
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
] as const)("%s prints its final directory between markers: %s", async (kind, command, code, output, reached) => {
  await using home: TemporaryHome = await temporaryHome()
  const marker = cwdMarker("s-1")
  const to = join(home.path, "state")
  const script = statefulScript({ command, shell: kind, cwd: home.workdir, to, marker })
  const ended = await promisify(execFile)(`/bin/${kind}`, ["-c", script]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string },
  )
  const filter = createCwdMarkerFilter(marker)
  const shown =
    ended.stdout
      .split("")
      .map((piece) => filter.push(piece))
      .join("") + filter.end()
  expect([ended.code, shown, filter.cwd()]).toEqual([code, output, reached ?? home.workdir])
  expect(await readFile(`${to}.cwd`, "utf8")).toBe(`${reached ?? home.workdir}\n\0`)
})

test("a command whose directory cannot be entered exits with 126", async () => {
  const script = statefulScript({ command: "true", shell: "sh", cwd: "/no/such" })
  await expect(promisify(execFile)("/bin/sh", ["-c", script])).rejects.toMatchObject({ code: 126 })
})

test("text that only resembles a marked directory is shown", () => {
  const filter = createCwdMarkerFilter("__M__")
  expect(filter.push("a __") + filter.push("M_ b __M__ open")).toBe("a __M_ b ")
  expect(filter.end()).toBe("__M__ open")
  expect(filter.push(`__M__${"x".repeat(20_000)}`)).toHaveLength(20_005)
  expect(filter.cwd()).toBeUndefined()
})

test("a state file is not reused while a command may read or write it", () => {
  const files = createStateFiles("/s")
  const first = files.begin()
  const second = files.begin()
  expect([first.from, first.to, second.to]).toEqual([undefined, "/s/state-0", "/s/state-1"])
  first.commit()
  first.release()
  second.release()
  const third = files.begin()
  expect([third.from, third.to]).toEqual(["/s/state-0", "/s/state-1"])
  third.commit()
  third.release()
  expect([files.current(), files.begin().to]).toEqual(["/s/state-1", "/s/state-0"])
})

// The first command runs in a new shell, the second in the prewarmed one.
test("output to stdout and stderr stays in the order it was written", async () => {
  await using bash = await openShell()
  const command = "for n in 1 2 3; do echo out $n; echo err $n >&2; done"
  const expected = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
  expect([await bash.output(command), await bash.output(command)]).toEqual([expected, expected])
})

test("an unclosed quote is the only error that bash reports", async () => {
  await using bash = await openShell()
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

// Pipes can be opened by name, sockets cannot.
test("a command can open /dev/stdout and /dev/stderr", async () => {
  await using bash = await openShell({ more: { startupFiles: [] } })
  const command = "echo one >/dev/stdout; echo two >/dev/stderr; echo three | tee /dev/stderr >/dev/null"
  expect([await bash.output(command), await bash.output(command)]).toEqual(["one\ntwo\nthree\n", "one\ntwo\nthree\n"])
})

test("a background command can open /dev/stderr, and its stderr can be received separately", async () => {
  await using bash = await openShell()
  const received = { onOutput: "", onErrorOutput: "" }
  const both = await bash.workspace.start("echo out; echo err >/dev/stderr", {
    pty: false,
    onOutput: (text) => {
      received.onOutput += text
    },
  })
  expect(await both.exit).toEqual({ how: "exited", code: 0 })
  expect(received).toEqual({ onOutput: "out\nerr\n", onErrorOutput: "" })
  const separate = await bash.workspace.start("echo out; echo err >&2", {
    pty: false,
    onOutput: (text) => {
      received.onOutput += text
    },
    onErrorOutput: (text) => {
      received.onErrorOutput += text
    },
  })
  expect(await separate.exit).toEqual({ how: "exited", code: 0 })
  expect(received).toEqual({ onOutput: "out\nerr\nout\n", onErrorOutput: "err\n" })
})
