import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"

import { isNotFound } from "../../src/base/system-error.ts"

export interface TemporaryHome extends AsyncDisposable {
  /** HERMES_HOME. */
  readonly path: string
  /** The user's HOME; `path` is `.hermes` in it. */
  readonly userHome: string
  /** An empty folder to work in. */
  readonly workdir: string
  /** The whole environment for a child process: nothing a developer has exported is in it except PATH. */
  readonly env: Readonly<Record<string, string>>
}

export interface TemporaryHomeOptions {
  /** The text of `config.yaml`; without it there is no such file. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** Files below HERMES_HOME by relative path. */
  readonly files?: Readonly<Record<string, string>>
  /** Files below the working folder by relative path. */
  readonly workFiles?: Readonly<Record<string, string>>
}

/** A user's machine that is gone after the test. */
export async function temporaryHome(options: TemporaryHomeOptions = {}): Promise<TemporaryHome> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "hermes-test-")))
  const userHome = join(root, "user")
  const path = join(userHome, ".hermes")
  const workdir = join(root, "work")
  const temporary = join(root, "tmp")
  for (const folder of [path, workdir, temporary]) await mkdir(folder, { recursive: true })
  const config = options.config === undefined ? {} : { "config.yaml": options.config }
  await writeFiles(path, { ...config, ...options.files })
  await writeFiles(workdir, options.workFiles ?? {})
  return {
    path,
    userHome,
    workdir,
    env: {
      PATH: [dirname(process.execPath), process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"].join(delimiter),
      HOME: userHome,
      HERMES_HOME: path,
      TMPDIR: temporary,
      // Shared on purpose: compiling the product anew for every started process would double the time of the suite.
      ...(process.env["NODE_COMPILE_CACHE"] === undefined
        ? {}
        : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
      TERM: "dumb",
      LANG: "C.UTF-8",
      TZ: "UTC",
      ...options.env,
    },
    async [Symbol.asyncDispose]() {
      await removeTree(root)
    },
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

/** Also removes folders that a test made read-only. */
async function removeTree(root: string): Promise<void> {
  await openFolders(root)
  await rm(root, { recursive: true, force: true, maxRetries: 5 })
}

async function openFolders(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700)
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await openFolders(join(folder, entry.name))
    }
  } catch (error) {
    // A process that is just ending may still remove its own files.
    if (!isNotFound(error)) throw error
  }
}
