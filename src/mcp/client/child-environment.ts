import { completePath } from "../../exec/command-environment.ts"

/**
 * The environment of a stdio server: what every program needs, and what the server's own entry sets. Nothing else, so that no key of
 * Hermes or of another server reaches it.
 */
export function childEnvironment(
  inherited: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const visible = Object.entries(inherited).filter(([name]) => VISIBLE.has(name) || name.startsWith("XDG_"))
  return { ...Object.fromEntries(visible), PATH: completePath(inherited["PATH"] ?? ""), ...own }
}

const VISIBLE: ReadonlySet<string> = new Set([
  ..."PATH HOME USER LANG LC_ALL TERM SHELL TMPDIR".split(" "),
  // Programs do not start on Windows without these.
  ..."APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR".split(
    " ",
  ),
])
