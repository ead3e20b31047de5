import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"

import { isNotFound } from "../../src/base/system-error.ts"

export interface TemporaryHome extends AsyncDisposable {
  /** HERMES_HOME. */
  readonly path: string
  /** The user's HOME; `path` is `.hermes` in it. */
  readonly userHome: string
  /** The working directory, empty unless `workFiles` is given. */
  readonly workdir: string
  /** The complete environment for a child process. Of the developer's own variables it contains only PATH. */
  readonly env: Readonly<Record<string, string>>
}

export interface TemporaryHomeOptions {
  /** The text of `config.yaml`. Without it, the file does not exist. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** Files below HERMES_HOME by relative path. */
  readonly files?: Readonly<Record<string, string>>
  /** Files below the working directory by relative path. */
  readonly workFiles?: Readonly<Record<string, string>>
}

/** Creates a user home with a Hermes home and a working directory. Disposing deletes all of them. */
export async function temporaryHome(options: TemporaryHomeOptions = {}): Promise<TemporaryHome> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "hermes-test-")))
  const userHome = join(root, "user")
  const path = join(userHome, ".hermes")
  const workdir = join(root, "work")
  const temporary = join(root, "tmp")
  for (const directory of [path, workdir, temporary]) await mkdir(directory, { recursive: true })
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
      // Shared between homes: compiling Hermes again for every process would double the duration of the suite.
      ...(process.env["NODE_COMPILE_CACHE"] === undefined
        ? {}
        : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
      TERM: "dumb",
      // Tests of the full UI remove it.
      HERMES_TUI: "0",
      LANG: "C.UTF-8",
      TZ: "UTC",
      ...options.env,
    },
    async [Symbol.asyncDispose]() {
      await removeTree(root)
    },
  }
}

async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = join(directory, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

/** Also removes directories that a test made read-only. */
async function removeTree(root: string): Promise<void> {
  await makeDirectoriesWritable(root)
  await rm(root, { recursive: true, force: true, maxRetries: 5 })
}

async function makeDirectoriesWritable(directory: string): Promise<void> {
  try {
    await chmod(directory, 0o700)
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await makeDirectoriesWritable(join(directory, entry.name))
    }
  } catch (error) {
    // A process that is still exiting may remove its own files meanwhile.
    if (!isNotFound(error)) throw error
  }
}
