import { randomInt } from "node:crypto"
import { posix } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { errorCode } from "../../../src/base/system-error.ts"
import type { CommandExit, RunCommandOptions, Workspace } from "../../../src/exec/workspace.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

/** A workspace that the suite runs against. */
export interface WorkspaceUnderTest {
  readonly workspace: Workspace
  /** An empty directory in the workspace for the tests. */
  readonly directory: string
  close(): Promise<void>
}

export interface ConformanceOptions {
  readonly name: string
  readonly open: () => Promise<WorkspaceUnderTest>
  /** Why it cannot be tested on this machine; the tests are skipped then. */
  readonly missing: string | undefined
  /** Whether background commands have a stdin. */
  readonly hasBackgroundInput: boolean
}

/** The contract that every kind of workspace fulfils. */
export function testWorkspace(options: ConformanceOptions): void {
  // Workspaces may share a process table with each other and with other tests: this number identifies the processes of this run.
  const mark = String(randomInt(100_000, 900_000))
  describe.skipIf(options.missing !== undefined)(titleWithReason(options.name, options.missing), () => {
    let subject: WorkspaceUnderTest
    let count = 0
    beforeAll(async () => {
      subject = await options.open()
    })
    afterAll(async () => {
      await subject.close()
    })
    const fresh = async (): Promise<string> => {
      const directory = posix.join(subject.directory, `case-${(count += 1)}`)
      await run(`mkdir -p ${directory}`)
      return directory
    }
    const run = (command: string, run: Partial<RunCommandOptions> = {}): Promise<CommandExit> =>
      subject.workspace.run(command, { ...LIMITS(), ...run }).exit

    describe("files", () => {
      test("files are read back byte for byte with correct facts", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        const contents: readonly (readonly [string, string | Uint8Array])[] = [
          ["empty", ""],
          ["text", "one\ntwo\n"],
          ["no newline", "päck — 日本語 🎉"],
          ["crlf", "one\r\ntwo\r\n"],
          ["bytes", Uint8Array.from({ length: 512 }, (_, index) => index % 256)],
          ["large", "x".repeat(3_000_000)],
        ]
        for (const [name, data] of contents) {
          const path = posix.join(directory, name)
          const bytes = Buffer.from(data)
          expect(await files.write(path, data)).toMatchObject({ bytes: bytes.length, path, createdDirectories: false })
          expect(Buffer.from(await files.read(path)).equals(bytes)).toBe(true)
          expect(await files.stat(path)).toEqual({
            kind: "file",
            size: bytes.length,
            modifiedMs: expect.any(Number),
            mode: 0o644,
          })
        }
      })

      test("commands and file operations see the same files", async () => {
        const directory = await fresh()
        await subject.workspace.files.write(posix.join(directory, "in"), "from the tool\n")
        expect((await run("cat in; printf 'from the shell' > out", { cwd: directory })).output).toBe("from the tool\n")
        expect(Buffer.from(await subject.workspace.files.read(posix.join(directory, "out"))).toString()).toBe(
          "from the shell",
        )
      })

      test("unusual file names work", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        const names = [
          " leading",
          "trailing ",
          "-rf",
          "--help",
          "a'b",
          'q"q',
          "back\\slash",
          "$(touch hurt)",
          "`id`",
          "new\nline",
          "*",
          "äöü",
          ".hidden",
          "..two",
        ]
        for (const name of names) await files.write(posix.join(directory, name), name)
        expect((await files.list(directory)).toSorted(byName)).toEqual(
          names.map((name) => ({ name, kind: "file" })).toSorted(byName),
        )
        for (const name of ["-rf", "$(touch hurt)", "new\nline"]) {
          const path = posix.join(directory, name)
          expect(Buffer.from(await files.read(path)).toString()).toBe(name)
          await files.rename(path, `${path}.moved`)
          await files.remove(`${path}.moved`)
        }
        expect((await files.list(directory)).length).toBe(names.length - 3)
      })

      test("list reports kinds and does not follow links", async () => {
        const directory = await fresh()
        await run("mkdir folder; touch file; mkfifo pipe; ln -s folder link; ln -s nowhere dangling", {
          cwd: directory,
        })
        expect((await subject.workspace.files.list(directory)).toSorted(byName)).toEqual([
          { name: "dangling", kind: "other" },
          { name: "file", kind: "file" },
          { name: "folder", kind: "directory" },
          { name: "link", kind: "other" },
          { name: "pipe", kind: "other" },
        ])
      })

      test("write creates directories, keeps the mode and follows links", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        const deep = posix.join(directory, "a/b/c.sh")
        const { facts, ...written } = await files.write(deep, "1")
        expect(written).toEqual({ bytes: 1, path: deep, createdDirectories: true })
        if (facts !== undefined) expect(facts).toEqual(await files.stat(deep))
        await run("chmod 750 a/b/c.sh; ln -s a/b/c.sh link; ln -s a/new dangling", { cwd: directory })
        await files.write(posix.join(directory, "link"), "22")
        await files.write(posix.join(directory, "dangling"), "333")
        expect((await run("stat -c '%a %s %F' a/b/c.sh; cat a/new; readlink link", { cwd: directory })).output).toBe(
          "750 2 regular file\n333a/b/c.sh\n",
        )
        expect((await run("ls -A a a/b", { cwd: directory })).output).toBe("a:\nb\nnew\n\na/b:\nc.sh\n")
      })

      test("readRange reads a part of a file", async () => {
        const path = posix.join(await fresh(), "part")
        await subject.workspace.files.write(path, "0123456789")
        const part = async (start: number, length: number): Promise<string> =>
          Buffer.from((await subject.workspace.files.readRange?.(path, { start, length })) ?? "none").toString()
        expect([await part(2, 3), await part(8, 9), await part(20, 5)]).toEqual(["234", "89", ""])
      })

      test("combined lookups return the same as separate ones", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        await files.write(posix.join(directory, "file"), "content\n")
        await run("mkdir folder; touch empty; mkfifo pipe; ln -s file link; ln -s nowhere dangling", { cwd: directory })
        const { lookup, readWithFacts } = files
        if (lookup === undefined || readWithFacts === undefined) return
        for (const name of ["file", "folder", "empty", "pipe", "link", "dangling", "missing", "folder/new/er"]) {
          const path = posix.join(directory, name)
          const facts = await files.stat(path)
          expect([name, await lookup(path)]).toEqual([name, { realPath: await files.realPath(path), facts }])
          if (facts === undefined) await expect(readWithFacts(path, 8)).rejects.toThrow("ENOENT")
          else {
            const { content, ...rest } = await readWithFacts(path, 8)
            expect([name, rest, content === undefined ? undefined : String(content)]).toEqual([
              name,
              { facts },
              name === "file" || name === "link" ? "content\n" : undefined,
            ])
          }
        }
        expect(await readWithFacts(posix.join(directory, "file"), 7)).not.toHaveProperty("content")
      })

      test("errors have system error codes", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        const at = (name: string): string => posix.join(directory, name)
        await files.write(at("file"), "x")
        await run("mkdir folder; mkfifo pipe", { cwd: directory })
        const codeOf = async (work: () => Promise<unknown>): Promise<string | undefined> => {
          try {
            await work()
            return "no failure"
          } catch (error) {
            return errorCode(error) ?? "no code"
          }
        }
        expect({
          readMissing: await codeOf(() => files.read(at("missing"))),
          readBelowFile: await codeOf(() => files.read(at("file/x"))),
          readFolder: await codeOf(() => files.read(at("folder"))),
          readPipe: await codeOf(() => files.read(at("pipe"))),
          writeFolder: await codeOf(() => files.write(at("folder"), "x")),
          writePipe: await codeOf(() => files.write(at("pipe"), "x")),
          writeBelowFile: await codeOf(() => files.write(at("file/x"), "x")),
          listMissing: await codeOf(() => files.list(at("missing"))),
          listFile: await codeOf(() => files.list(at("file"))),
          removeMissing: await codeOf(() => files.remove(at("missing"))),
          removeFolder: await codeOf(() => files.remove(at("folder"))),
          renameMissing: await codeOf(() => files.rename(at("missing"), at("other"))),
          renameOver: await codeOf(() => files.rename(at("file"), at("pipe"))),
          statMissing: await files.stat(at("missing")),
          statBelowFile: await files.stat(at("file/x")),
          statFolder: (await files.stat(at("folder")))?.kind,
          statPipe: (await files.stat(at("pipe")))?.kind,
        }).toEqual({
          readMissing: "ENOENT",
          readBelowFile: "ENOTDIR",
          readFolder: "EISDIR",
          readPipe: "no code",
          writeFolder: "EISDIR",
          writePipe: "no code",
          writeBelowFile: expect.stringMatching(/^(?:ENOTDIR|EEXIST)$/),
          listMissing: "ENOENT",
          listFile: "ENOTDIR",
          removeMissing: "ENOENT",
          removeFolder: expect.stringMatching(/^(?:EISDIR|EPERM)$/),
          renameMissing: "ENOENT",
          renameOver: "EEXIST",
          statMissing: undefined,
          statBelowFile: undefined,
          statFolder: "directory",
          statPipe: "other",
        })
      })

      test("rename creates directories", async () => {
        const { files } = subject.workspace
        const directory = await fresh()
        await files.write(posix.join(directory, "from"), "data")
        await files.rename(posix.join(directory, "from"), posix.join(directory, "new/directory/to"))
        expect((await run("find . | sort; cat new/directory/to", { cwd: directory })).output).toBe(
          ".\n./new\n./new/directory\n./new/directory/to\ndata",
        )
      })

      test("realPath resolves existing paths, missing paths and links", async () => {
        const { files } = subject.workspace
        const directory = await files.realPath(await fresh())
        await run("mkdir real; ln -s real link; ln -s real/later dangling; ln -s loop loop", { cwd: directory })
        const real = async (name: string): Promise<string> => await files.realPath(posix.join(directory, name))
        expect([await real("link"), await real("link/new/file"), await real("dangling"), await real("real")]).toEqual([
          posix.join(directory, "real"),
          posix.join(directory, "real/new/file"),
          posix.join(directory, "real/later"),
          posix.join(directory, "real"),
        ])
      })

      test("paths are relative to the working directory, and ~ is the home in the workspace", async () => {
        const { files } = subject.workspace
        const { home } = await subject.workspace.describe()
        expect([files.resolve("~"), files.resolve("~/x"), files.resolve("/a/../b")]).toEqual([home, `${home}/x`, "/b"])
        expect(files.resolve("x/../y")).toBe(posix.join(subject.workspace.cwd(), "y"))
      })

      test("the directory for results is private", async () => {
        const { files, results } = subject.workspace
        const directory = await files.temporaryDirectory?.()
        if (directory === undefined) return
        const saved = await results.save("kept")
        expect(saved).toMatch(/\/hermes-results\/result-[0-9a-f]{16}\.txt$/)
        expect((await run(`cat ${saved}; stat -c ' %a' ${directory}`)).output).toBe("kept 700\n")
        await files.remove(saved)
      })
    })

    describe("run", () => {
      test.each([
        ["echo hi; echo no >&2", 0, "hi\nno\n"],
        ["exit 3", 3, ""],
        ["kill -SEGV $$", 139, ""],
        ["no-such-program-here 2>/dev/null", 127, ""],
        ["printf x", 0, "x"],
        ["printf '\\xe2\\x82\\xac'", 0, "€"],
      ])("%s exits with the code of the shell", async (command, code, output) => {
        expect(await run(command)).toEqual({ how: "exited", code, output, omittedChars: 0 })
      })

      test("stdin is passed on, and a command that does not read it still succeeds", async () => {
        expect((await run("cat", { stdin: "päck\n" })).output).toBe("päck\n")
        expect((await run("wc -c", { stdin: "x".repeat(1_000_000) })).output.trim()).toBe("1000000")
        expect((await run("true", { stdin: "x".repeat(1_000_000) })).code).toBe(0)
        expect((await run("cat")).output).toBe("")
      })

      test("a command can have its own working directory", async () => {
        const directory = await fresh()
        expect((await run("pwd -P", { cwd: directory })).output.trim()).toBe(
          await subject.workspace.files.realPath(directory),
        )
        expect(await run("pwd", { cwd: "/no/such/directory" })).toEqual({
          how: "failed-to-start",
          code: -1,
          output: "",
          omittedChars: 0,
          error: "the working directory /no/such/directory cannot be used: no such file or directory",
        })
      })

      test("a huge output is cut to its limit", async () => {
        const exit = await run("head -c 20000000 /dev/zero | tr '\\0' x", { keepChars: 1000 })
        expect([exit.code, exit.omittedChars, exit.output.length < 1200]).toEqual([0, 19_999_000, true])
      })

      test("output is streamed while the command runs", async () => {
        const directory = await fresh()
        const running = subject.workspace.run("echo one; while [ ! -e go ]; do sleep 0.1; done; echo two", {
          ...LIMITS(),
          cwd: directory,
        })
        const seen: string[] = []
        for await (const text of running.output) {
          seen.push(text)
          if (text === "one\n") await subject.workspace.files.write(posix.join(directory, "go"), "")
        }
        expect([seen.join(""), (await running.exit).code]).toEqual(["one\ntwo\n", 0])
      })

      test("a timeout keeps the output and kills all processes", async () => {
        const directory = await fresh()
        const exit = await run(
          `echo $$ >shell; (sleep ${mark}1 & echo $! >child; wait) & setsid sleep ${mark}2 & echo $! >stray; echo printed; wait`,
          { cwd: directory, timeoutMs: 1500 },
        )
        expect(exit).toEqual({ how: "timed-out", code: 124, output: "printed\n", omittedChars: 0 })
        const left = await run(`for name in ${mark}1 ${mark}2; do ps -o args | grep "^sleep $name"; done; true`)
        expect(left.output).toBe("")
      })

      test("an interrupt settles immediately, even when the command ignores it", async () => {
        const stop = new AbortController()
        const running = subject.workspace.run("trap '' TERM INT; echo ready; while :; do sleep 0.05; done", {
          ...LIMITS(),
          signal: stop.signal,
        })
        for await (const text of running.output) {
          if (!text.includes("ready")) continue
          stop.abort()
          break
        }
        const exit = await running.exit
        expect([exit.how, exit.code]).toEqual(["interrupted", 130])
      })

      test("an already aborted signal starts nothing", async () => {
        const directory = await fresh()
        const exit = await run("touch ran", { cwd: directory, signal: AbortSignal.abort() })
        expect([exit.how, await subject.workspace.files.list(directory)]).toEqual(["interrupted", []])
      })

      test("a background job that keeps stdout open does not delay the result", async () => {
        expect(await run("sleep 20 & echo done", { timeoutMs: 15_000 })).toEqual({
          how: "exited",
          code: 0,
          output: "done\n",
          omittedChars: 0,
        })
      })
    })

    describe("state", () => {
      const keep = (command: string): Promise<CommandExit> => run(command, { keepState: true })

      test("directory, variables, functions and aliases are kept; unset variables stay unset", async () => {
        const directory = await fresh()
        await keep(`cd ${directory}`)
        await keep("export KEPT=1 GONE=2; greet() { echo hello $1; }; alias shout='echo LOUD'; local_only=3")
        await keep("unset GONE")
        expect((await keep("pwd -P; echo $KEPT,$GONE; greet you; shout")).output).toBe(
          `${await subject.workspace.files.realPath(directory)}\n1,\nhello you\nLOUD\n`,
        )
        expect(subject.workspace.files.resolve("x")).toBe(
          posix.join(await subject.workspace.files.realPath(directory), "x"),
        )
      })

      test("a command that exits its shell, is killed or times out does not damage the state", async () => {
        const directory = await fresh()
        await keep(`cd ${directory}; export STEADY=yes`)
        expect((await keep("exit 3")).code).toBe(3)
        expect((await keep("kill -KILL $$")).code).toBe(137)
        await run("sleep 100", { keepState: true, timeoutMs: 700 })
        expect(await keep("printf $STEADY")).toEqual({ how: "exited", code: 0, output: "yes", omittedChars: 0 })
      })

      test("internal commands neither see nor change the state", async () => {
        await keep("export SEEN=conversation")
        expect((await run("printf ${SEEN-nothing}; export LEFT=internal")).output).toBe("nothing")
        expect((await keep("printf ${LEFT-nothing}")).output).toBe("nothing")
      })

      test("a removed directory is replaced by its nearest ancestor, with one note", async () => {
        const directory = await subject.workspace.files.realPath(await fresh())
        await keep(`mkdir ${directory}/gone; cd ${directory}/gone`)
        await run(`rmdir ${directory}/gone`)
        const first = await keep("pwd")
        expect([first.output.trim(), first.cwdNote]).toEqual([
          directory,
          `The working directory ${directory}/gone no longer exists; the command ran in ${directory}.`,
        ])
        expect((await keep("pwd")).cwdNote).toBeUndefined()
      })
    })

    describe("background", () => {
      test("a background command runs on its own and reports its exit", async () => {
        const directory = await fresh()
        let output = ""
        const started = await subject.workspace.start(
          "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo over; exit 5",
          {
            cwd: directory,
            pty: false,
            onOutput: (text) => {
              output += text
            },
          },
        )
        expect(started.pid).toBeGreaterThan(0)
        await subject.workspace.files.write(posix.join(directory, "go"), "")
        expect(await started.exit).toEqual({ how: "exited", code: 5 })
        expect(output).toBe("begun\nover\n")
      })

      test("a background command can be killed with everything it started", async () => {
        const directory = await fresh()
        const started = await subject.workspace.start(`setsid sleep ${mark}3 & sleep ${mark}4`, {
          cwd: directory,
          pty: false,
          onOutput: () => undefined,
        })
        await started.kill()
        await started.exit
        const left = await run(`for name in ${mark}3 ${mark}4; do ps -o args | grep "^sleep $name"; done; true`)
        expect(left.output).toBe("")
      })

      if (options.hasBackgroundInput) {
        test("a background command accepts input", async () => {
          let output = ""
          const started = await subject.workspace.start("cat", {
            pty: false,
            onOutput: (text) => {
              output += text
            },
          })
          expect([started.write("hello\n"), started.closeInput()]).toEqual([true, true])
          await started.exit
          expect(output).toBe("hello\n")
        })
      } else {
        test("a background command without stdin rejects input", async () => {
          const started = await subject.workspace.start("sleep 100", { pty: false, onOutput: () => undefined })
          expect([started.write("x"), started.closeInput(), started.isPty]).toEqual([false, false, false])
          await started.kill()
        })
      }
    })

    test("describe returns facts about the system", async () => {
      const facts = await subject.workspace.describe()
      expect([facts.os, facts.home.startsWith("/"), facts.user !== ""]).toEqual(["Linux", true, true])
    })
  })
}

const LIMITS = (): RunCommandOptions => ({ timeoutMs: 25_000, signal: new AbortController().signal, keepChars: 50_000 })

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}
