import type { Field } from "./interpreter.ts"
import { knownWord } from "./scope.ts"

/**
 * Long options of programs that accept any unambiguous beginning of one, as `sed --in` for `sed --in-place`. Listed are the options that rules
 * compare, and those that are the beginning of one of them. Of several that begin alike, the first one counts.
 */
const LONG_OPTIONS: Readonly<Record<string, string>> = {
  "tar gtar":
    "use-compress-program to-command checkpoint-action checkpoint rsh-command rmt-command info-script new-volume-script remove-files directory one-top-level file files-from absolute-names transform xform strip-components extract get list create append update delete diff compare concatenate overwrite recursive-unlink unlink-first exclude index-file exclude-from newer-mtime newer",
  "cp gcp":
    "target-directory recursive archive link symbolic-link force parents dereference no-dereference no-target-directory remove-destination backup preserve",
  mv: "target-directory force no-target-directory backup",
  ln: "target-directory symbolic force no-dereference no-target-directory backup relative directory",
  install: "target-directory directory mode owner group no-target-directory strip strip-program backup",
  rm: "recursive force no-preserve-root dir one-file-system interactive",
  "sed gsed": "in-place expression file sandbox separate regexp-extended quiet silent",
  "grep egrep fgrep zgrep":
    "recursive dereference-recursive file regexp no-filename files-with-matches files-without-match include exclude-dir exclude-from exclude directories count",
  sort: "output compress-program files0-from temporary-directory random-source merge",
  shuf: "output random-source",
  "split csplit": "filter prefix additional-suffix",
  script: "command log-out log-in log-io log-timing append force",
  "make gmake": "eval file makefile directory include-dir dry-run just-print recon question touch",
  curl: "upload-file data-binary data-urlencode data-raw data-ascii data form-string form json output output-dir remote-name-all remote-name config header head cookie-jar cookie dump-header trace-ascii trace stderr libcurl etag-save etag-compare hsts alt-svc ssl ssl-sessions netrc-file netrc key cert proxy request user-agent user url-query url quote write-out unix-socket engine cacert capath resolve connect-to referer insecure location get",
  wget: "post-file post-data body-file body-data output-document output-file append-output directory-prefix execute input-file config save-cookies load-cookies reject rejected-log warc-file hsts-file header method mirror recursive use-askpass password user-agent user no-check-certificate",
  "chmod chown chgrp": "recursive reference no-preserve-root preserve-root from dereference no-dereference",
  "truncate fallocate": "size reference length punch-hole",
  tee: "append",
  shred: "remove force zero",
  touch: "reference no-dereference date",
  "gzip gunzip zcat xz unxz bzip2 bunzip2 zstd":
    "recursive stdout keep force decompress uncompress rm list test suffix output-dir-flat output-dir-mirror",
  patch: "output directory input reject-file force reverse remove-empty-files backup dry-run",
  "diff colordiff gdiff": "recursive from-file to-file",
  cpio: "directory file extract create pass-through rsh-command to-stdout",
  "awk gawk": "file exec include load assign source sandbox field-separator dump-variables profile pretty-print debug",
  "gpg gpg2":
    "output export-secret-keys export-secret-subkeys export-ssh-key export decrypt delete-secret-keys delete-secret-and-public-key delete-keys homedir photo-viewer keyserver-options keyserver recv-keys send-keys log-file options",
  "mysql mariadb mysqldump":
    "execute host user password database pager tee init-command defaults-file defaults-extra-file result-file",
  "psql pg_dump": "command file output log-file host set variable dbname",
  "systemctl journalctl loginctl":
    "force now user global runtime root host machine signal vacuum-size vacuum-time vacuum-files rotate flush",
  "pkill pgrep": "full signal exact uid euid group parent session terminal newest oldest inverse ignore-case",
  gdb: "args batch-silent batch command core directory eval-command exec init-command init-eval-command pid",
  zip: "unzip-command test move recurse-paths output-file",
  man: "pager html",
  base64: "decode wrap",
  strip: "output-target",
  "pip pip3":
    "target prefix root-user-action root user index-url extra-index-url find-links trusted-host requirement editable constraint proxy cert log break-system-packages config-settings config-setting global-option",
  npm: "global globalconfig prefix registry script-shell userconfig node-options location workspace call package editor shell proxy https-proxy ignore-scripts cache cafile",
  hg: "config cwd repository rev",
  "userdel groupdel usermod useradd passwd": "remove force root prefix delete lock expire",
  "mount umount": "bind move options types target source all force recursive",
  m4: "include define synclines",
}

/** The same for the subcommands of git. */
const GIT_OPTIONS: Readonly<Record<string, string>> = {
  add: "force all chmod dry-run",
  am: "directory exclude reject",
  apply: "unsafe-paths directory reverse index reject cached check stat summary",
  archive: "exec output remote format prefix",
  branch: "force delete move copy format edit-description set-upstream-to",
  checkout: "force",
  "checkout-index": "force prefix all index",
  clean: "force dry-run exclude interactive",
  clone:
    "upload-pack template config separate-git-dir recurse-submodules reference-if-able reference bundle-uri branch origin mirror filter depth jobs server-option shallow-since shallow-exclude",
  commit: "file template message all amend no-verify author date interactive",
  config:
    "global system local worktree file blob add replace-all unset-all unset rename-section remove-section get-regexp get-urlmatch get-all get list edit type default comment value name-only includes null show-origin show-scope",
  difftool: "extcmd tool no-prompt",
  fetch:
    "upload-pack force prune-tags prune all depth append filter jobs server-option shallow-since shallow-exclude recurse-submodules refmap",
  "format-patch": "output-directory output stdout",
  gc: "prune aggressive force auto",
  grep: "open-files-in-pager no-index untracked recursive",
  init: "template separate-git-dir bare shared",
  "ls-remote": "upload-pack exec get-url heads refs tags server-option",
  "ls-files": "others cached deleted exclude-standard exclude exclude-from",
  log: "output",
  diff: "output no-index ext-diff text textconv",
  show: "output ext-diff text textconv",
  mergetool: "tool",
  mv: "force",
  prune: "dry-run expire",
  pull: "upload-pack force rebase prune all append depth filter jobs server-option set-upstream",
  push: "force force-with-lease force-if-includes mirror delete prune all branches receive-pack exec repo dry-run tags set-upstream push-option recurse-submodules",
  "read-tree": "reset prefix",
  rebase: "exec interactive root onto autosquash",
  reflog: "expire-unreachable expire all dry-run",
  replace: "delete edit force",
  reset: "hard keep merge mixed soft",
  restore: "worktree staged source",
  rm: "force cached dry-run",
  stash: "staged all index include-untracked message",
  submodule: "recursive force init remote name branch reference depth",
  switch: "force force-create discard-changes create",
  "symbolic-ref": "delete",
  tag: "delete force file message",
  "update-index": "chmod force-remove add remove replace cacheinfo index-info stdin",
  "update-ref": "stdin",
  worktree: "force expire",
  "send-email": "smtp-server to-cmd cc-cmd sendmail-cmd",
}

const table = (rows: Readonly<Record<string, string>>): ReadonlyMap<string, readonly string[]> =>
  new Map(
    Object.entries(rows).flatMap(([names, options]) => {
      const list = options.split(" ")
      return names.split(" ").map((name) => [name, list] as const)
    }),
  )

const PROGRAMS = table(LONG_OPTIONS)
const GIT = table(GIT_OPTIONS)
const GIT_VALUES = new Set("-C -c --git-dir --work-tree --namespace --config-env --super-prefix".split(" "))

/** The words of a command with abbreviated long options in full, so that no rule has to know the abbreviations. */
export function withFullOptions(name: string, argv: readonly Field[]): readonly Field[] {
  const start = name === "git" ? gitSubcommand(argv) : 1
  const options = name === "git" ? GIT.get(argv[start]?.text ?? "") : PROGRAMS.get(name)
  if (options === undefined) return argv
  let full: Field[] | undefined
  for (let at = start; at < argv.length; at += 1) {
    const word = argv[at] ?? knownWord("")
    if (!word.text.startsWith("--")) continue
    if (word.text === "--") break
    const text = fullOption(word.text, options)
    if (text === word.text) continue
    full ??= [...argv]
    full[at] = { ...word, text }
  }
  return full ?? argv
}

function gitSubcommand(argv: readonly Field[]): number {
  let at = 1
  while (argv[at]?.text.startsWith("-") === true) at += GIT_VALUES.has(argv[at]?.text ?? "") ? 2 : 1
  return at
}

function fullOption(text: string, options: readonly string[]): string {
  const equals = text.indexOf("=")
  const given = equals === -1 ? text.slice(2) : text.slice(2, equals)
  if (given === "" || options.includes(given)) return text
  const full = options.find((option) => option.startsWith(given))
  return full === undefined ? text : `--${full}${equals === -1 ? "" : text.slice(equals)}`
}

/** True for a long option, and for a beginning of it that a program may accept. Two letters are the shortest one. */
export function isLongOption(text: string, option: string): boolean {
  return text === option || (text.length >= SHORTEST && text.startsWith("--") && option.startsWith(text))
}

const SHORTEST = "--ab".length
