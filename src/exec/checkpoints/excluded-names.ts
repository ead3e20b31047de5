/**
 * Names that checkpoints leave out: build and install output, version control data, large media and secrets. The comparison is
 * exact and applies at every level of the tree.
 */
export function isExcluded(name: string, kind: "directory" | "other"): boolean {
  if (ALWAYS.has(name) || EXCLUDED_ENDING.test(name) || name.startsWith(".env.")) return true
  return kind === "directory" && isOutputDirectory(name)
}

/** A directory whose content is built or downloaded. */
export function isOutputDirectory(name: string): boolean {
  return DIRECTORIES.has(name)
}

const DIRECTORIES = new Set(
  (
    "node_modules dist build target out .next .nuxt __pycache__ .cache .pytest_cache .mypy_cache .ruff_cache coverage .venv " +
    "venv env .hg .svn .worktrees"
  ).split(" "),
)

/** Excluded as files too: `.git` is a file in a worktree or a submodule. */
const ALWAYS = new Set([".git", ".env", ".coverage", ".DS_Store", "Thumbs.db"])

const EXCLUDED_ENDING =
  /\.(?:pyc|pyo|so|dylib|dll|o|a|jar|class|exe|obj|mp4|mov|mkv|webm|zip|tar|tar\.gz|tgz|7z|rar|iso|log)$/u
