import { CODE, PERSON, SYSTEM } from "./command-rule.ts"
import {
  FLAGS,
  HERMES_FILE,
  LAST,
  PROJECT,
  QUOTE,
  RM,
  RUNNER,
  SEGMENT,
  SENSITIVE,
  SHELL,
  SPACE,
  SYSTEM_CONFIG,
  USER_SENSITIVE,
  caseSensitive,
  text,
} from "./text-patterns.ts"
import type { TextRule } from "./text-rules.ts"

export const RISKY_TEXT: readonly TextRule[] = [
  { key: "delete in root path", words: ["rm"], patterns: [text(`${RM}${FLAGS}${SPACE}${QUOTE}/`)], effects: CODE },
  {
    key: "recursive delete",
    words: ["rm"],
    // What follows `--` is no option.
    patterns: [text(String.raw`${RM}(?:${SPACE}-(?!-\s)[^\s]{0,40}){0,6}${SPACE}-[a-z]{0,20}r`)],
    effects: CODE,
  },
  {
    key: "recursive delete (long flag)",
    words: ["rm"],
    patterns: [text(String.raw`${RM}${FLAGS}${SPACE}--recursive\b`)],
    effects: CODE,
  },
  {
    key: "world/other-writable permissions",
    words: ["chmod"],
    patterns: [
      text(String.raw`\bchmod${FLAGS}${SPACE}${QUOTE}(?:[0-7]?(?:777|666)\b|[ugoa]{0,4}[oa][ugo]{0,3}\+[rwx]{0,4}w)`),
    ],
    effects: CODE,
  },
  {
    key: "recursive world/other-writable (long flag)",
    words: ["chmod"],
    patterns: [
      text(
        String.raw`\bchmod${SPACE}--recursive${FLAGS}${SPACE}(?:[0-7]?(?:777|666)\b|[ugoa]{0,4}[oa][ugo]{0,3}\+[rwx]{0,4}w)`,
      ),
    ],
    effects: CODE,
  },
  {
    key: "recursive chown to root",
    words: ["chown"],
    patterns: [caseSensitive(String.raw`\bchown${FLAGS}${SPACE}-[a-zA-Z]{0,8}R${FLAGS}${SPACE}root\b`)],
    effects: CODE,
  },
  {
    key: "recursive chown to root (long flag)",
    words: ["chown"],
    patterns: [text(String.raw`\bchown${FLAGS}${SPACE}--recursive${FLAGS}${SPACE}root\b`)],
    effects: CODE,
  },
  {
    key: "endless loop that starts processes",
    words: ["while", "until", "for"],
    patterns: [
      text(
        String.raw`(?<![\w-])(?:while\s{1,9}(?:true|:|\[\s{0,9}1\s{0,9}\]|\(\(\s{0,9}1\s{0,9}\)\))|until\s{1,9}false|for\s{0,9}\(\(\s{0,9};\s{0,9};\s{0,9}\)\))\s{0,9};?\s{0,9}(?:do\b|\{)[^\n]{0,300}?(?<![&>])&(?![&>\d])`,
      ),
    ],
    unless: /\b(?:sleep|wait|read|inotifywait|break|exit|done\s{0,9}&)\b|\bdone\b[^\n]{0,200}&\s*$/u,
    effects: SYSTEM,
  },
  {
    key: "kill processes that a list names (self-termination)",
    words: ["kill"],
    patterns: [
      text(
        String.raw`\/proc\/(?:\[0-9\]|\[\[:digit:\]\]|\*)|(?<![\w-])seq\s{1,9}\d{1,4}\s{1,9}\d{4,}|\bls\s{1,9}\/proc(?![\w\/])|\{\d{1,7}\.\.\d{4,7}\}|\bfor\s{0,9}\(\([^()]{0,60}<=?\s{0,9}\d{4,7}`,
      ),
      text(String.raw`(?<![\w.-])kill\s`),
    ],
    effects: SYSTEM,
  },
  { key: "disk copy", words: ["dd"], patterns: [text(String.raw`(?<![\w.-])dd\s${SEGMENT}\bif=`)], effects: CODE },
  {
    key: "write to block device",
    words: [">"],
    patterns: [text(String.raw`>\s{0,20}${QUOTE}\/dev\/sd`)],
    effects: CODE,
  },
  {
    key: "SQL DROP",
    words: ["drop"],
    patterns: [text(String.raw`\bdrop${SPACE}(?:table|database)\b`)],
    effects: PERSON,
  },
  {
    key: "SQL DROP of another object",
    words: ["drop"],
    patterns: [
      text(
        String.raw`\bdrop${SPACE}(?:schema|user|role|view|materialized|index|function|type|sequence|trigger|column|owned|tablespace|keyspace|collection)\b`,
      ),
    ],
    effects: PERSON,
  },
  {
    key: "SQL UPDATE without WHERE",
    words: ["update"],
    patterns: [
      text(
        String.raw`\bupdate${SPACE}["'${"`"}]?[\w.]{1,60}["'${"`"}]?${SPACE}set${SPACE}["'${"`"}]?\w{1,60}["'${"`"}]?\s{0,5}=`,
      ),
    ],
    unless: /\bwhere\b/iu,
    effects: PERSON,
  },
  {
    key: "SQL DELETE without WHERE",
    words: ["delete"],
    patterns: [text(String.raw`\bdelete${SPACE}from${SPACE}["'${"`"}\w]`)],
    unless: /\bwhere\b/iu,
    effects: PERSON,
  },
  {
    key: "SQL TRUNCATE",
    words: ["truncate"],
    patterns: [text(String.raw`\btruncate${SPACE}(?:table${SPACE}\w|[\w."]{1,80}\s{0,5}(?:;|["']|cascade))`)],
    effects: PERSON,
  },
  {
    key: "overwrite system config",
    words: [">"],
    patterns: [text(String.raw`>\|?\s{0,20}${QUOTE}${SYSTEM_CONFIG}`)],
    effects: CODE,
  },
  {
    key: "stop/restart system service",
    words: ["systemctl"],
    patterns: [text(String.raw`\bsystemctl${FLAGS}${SPACE}(?:stop|restart|disable|mask)\b`)],
    effects: SYSTEM,
  },
  {
    key: "force kill processes",
    words: ["pkill"],
    patterns: [text(String.raw`\bpkill${FLAGS}${SPACE}-9\b`)],
    effects: SYSTEM,
  },
  {
    key: "force kill processes (killall -KILL)",
    words: ["killall"],
    patterns: [text(String.raw`\bkillall\s${SEGMENT}-(?:9|(?:sig)?kill)\b`)],
    effects: SYSTEM,
  },
  {
    key: "force kill processes (killall -s KILL)",
    words: ["killall"],
    patterns: [text(String.raw`\bkillall\s${SEGMENT}-s${SPACE}(?:9|(?:sig)?kill)\b`)],
    effects: SYSTEM,
  },
  {
    key: "kill processes by regex (killall -r)",
    words: ["killall"],
    patterns: [text(String.raw`\bkillall\s${SEGMENT}-r\b`)],
    effects: SYSTEM,
  },
  {
    key: "shell command via -c/-lc flag",
    words: ["sh"],
    patterns: [text(String.raw`${SHELL}(?:${SPACE}-[^\s;|&]{0,60}){0,6}${SPACE}-[a-z]{0,8}c(?=\s|$)`)],
    effects: CODE,
  },
  {
    key: "script execution via -e/-c flag",
    words: ["python", "perl", "ruby", "node"],
    // `-c FILE` of the others checks the syntax of a file.
    patterns: [
      text(
        String.raw`(?:${RUNNER}(?:${SPACE}-[^\s;|&]{0,60}){0,6}${SPACE}-e|(?<![\w.-])python[\d.]{0,5}(?:${SPACE}-[^\s;|&]{0,60}){0,6}${SPACE}-c)(?=[\s"']|$)`,
      ),
    ],
    effects: CODE,
  },
  {
    key: "pipe remote content to shell",
    words: ["curl", "wget"],
    patterns: [
      text(String.raw`(?<![\w.-])(?:curl|wget)\s`),
      text(
        String.raw`\|\s{0,20}(?:sudo${SPACE}(?:-\S{1,20}${SPACE}){0,4})?(?:[\w.-]{0,40}\/){0,8}(?:ba|z|k|da)?sh(?![\w.-])`,
      ),
    ],
    effects: [{ kind: "network", host: undefined }, { kind: "code" }],
  },
  {
    key: "execute remote script via process substitution",
    words: ["<("],
    patterns: [text(String.raw`${SHELL}${SPACE}<\(\s{0,20}(?:curl|wget)\b`)],
    effects: [{ kind: "network", host: undefined }, { kind: "code" }],
  },
  {
    key: "overwrite system file via tee",
    words: ["tee"],
    patterns: [text(String.raw`\btee\s${SEGMENT}${QUOTE}${SENSITIVE}`)],
    effects: CODE,
  },
  {
    key: "overwrite system file via redirection",
    words: [">"],
    patterns: [text(String.raw`>\|?\s{0,20}${QUOTE}(?:\/dev\/sd|${USER_SENSITIVE}|${HERMES_FILE})`)],
    effects: CODE,
  },
  {
    key: "overwrite project env/config via tee",
    words: ["tee"],
    patterns: [
      text(
        String.raw`\btee\s${SEGMENT}(?<=[\s\/"'])(?:\.env(?:\.[\w-]{1,40})?|config\.yaml)["']?\s{0,20}(?:$|[;&|\n])`,
      ),
    ],
    effects: CODE,
  },
  {
    key: "overwrite project env/config via redirection",
    words: [">"],
    patterns: [text(String.raw`>\|?\s{0,20}${QUOTE}${PROJECT}`)],
    effects: CODE,
  },
  {
    key: "xargs with rm",
    words: ["xargs"],
    patterns: [
      text(String.raw`\bxargs(?:${SPACE}-[^\s]{1,40}(?:${SPACE}[\d{}]{1,8})?){0,6}${SPACE}(?:\S{0,60}\/)?rm\b`),
    ],
    effects: CODE,
  },
  {
    key: "find -exec/-execdir rm",
    words: ["find"],
    patterns: [text(String.raw`\bfind\s${SEGMENT}-exec(?:dir)?${SPACE}(?:\S{0,60}\/)?rm\b`)],
    effects: CODE,
  },
  { key: "find -delete", words: ["find"], patterns: [text(String.raw`\bfind\s${SEGMENT}\s-delete\b`)], effects: CODE },
  {
    key: "stop/restart hermes gateway (kills running agents)",
    words: ["hermes"],
    patterns: [text(String.raw`\bhermes${SPACE}gateway${SPACE}(?:stop|restart)\b`)],
    effects: PERSON,
  },
  {
    key: "hermes update (restarts gateway, kills running agents)",
    words: ["hermes"],
    patterns: [text(String.raw`\bhermes${SPACE}update\b`)],
    effects: PERSON,
  },
  {
    key: "docker compose restart/stop/kill/down (container lifecycle)",
    words: ["docker"],
    patterns: [text(String.raw`\bdocker${SPACE}compose${FLAGS}${SPACE}(?:restart|stop|kill|down)\b`)],
    effects: PERSON,
  },
  {
    key: "docker restart/stop/kill (container lifecycle)",
    words: ["docker"],
    patterns: [text(String.raw`\bdocker${SPACE}(?:restart|stop|kill)\b`)],
    effects: PERSON,
  },
  {
    key: "start gateway outside systemd",
    words: ["gateway"],
    patterns: [text(String.raw`\bgateway${SPACE}run\b`), text(String.raw`&\s{0,20}$|\bdisown\b|\bsetsid\b`)],
    effects: PERSON,
  },
  {
    key: "start gateway outside systemd",
    words: ["gateway"],
    patterns: [text(String.raw`\bnohup\b`), text(String.raw`\bgateway${SPACE}run\b`)],
    effects: PERSON,
  },
  {
    key: "kill hermes/gateway process (self-termination)",
    words: ["pkill", "killall"],
    patterns: [text(String.raw`\b(?:pkill|killall)\s${SEGMENT}\b(?:hermes|gateway)\b`)],
    effects: PERSON,
  },
  {
    key: "kill process via pgrep expansion (self-termination)",
    words: ["pgrep"],
    patterns: [text(String.raw`\bkill\s${SEGMENT}\$\(\s{0,20}pgrep`)],
    effects: SYSTEM,
  },
  {
    key: "kill process via backtick pgrep expansion (self-termination)",
    words: ["pgrep"],
    patterns: [text(String.raw`\bkill\s${SEGMENT}${"`"}\s{0,20}pgrep`)],
    effects: SYSTEM,
  },
  {
    key: "copy/move file into system config path",
    words: ["cp", "mv", "install"],
    patterns: [text(String.raw`\b(?:cp|mv|install)\s${SEGMENT}\s${QUOTE}${SYSTEM_CONFIG}${LAST}`)],
    effects: CODE,
  },
  {
    key: "overwrite project env/config file",
    words: ["cp", "mv", "install"],
    patterns: [text(String.raw`\b(?:cp|mv|install)\s${SEGMENT}\s${QUOTE}${PROJECT}["']?\s{0,20}(?:$|[;&|\n])`)],
    effects: CODE,
  },
  {
    key: "copy/move file into sensitive credential/SSH/shell-rc path",
    words: ["cp", "mv", "install"],
    patterns: [
      text(String.raw`\b(?:cp|mv|install)\s${SEGMENT}\s${QUOTE}(?:\/dev\/sd|${USER_SENSITIVE}|${HERMES_FILE})${LAST}`),
    ],
    effects: CODE,
  },
  ...inPlaceEdits(),
  {
    key: "script execution via heredoc",
    words: ["<<"],
    patterns: [text(String.raw`${RUNNER}(?:${SPACE}-){0,1}\s{0,20}<<`)],
    effects: CODE,
  },
  {
    key: "git reset --hard (destroys uncommitted changes)",
    words: ["git"],
    patterns: [text(String.raw`\bgit${SPACE}reset${FLAGS}${SPACE}--hard\b`)],
    effects: [{ kind: "delete", path: undefined }],
  },
  {
    key: "git force push (rewrites remote history)",
    words: ["git"],
    patterns: [text(String.raw`\bgit${SPACE}push\s${SEGMENT}--force`)],
    effects: PERSON,
  },
  {
    key: "git force push short flag (rewrites remote history)",
    words: ["git"],
    patterns: [text(String.raw`\bgit${SPACE}push\s(?:[^;|&\n]{0,300}?\s)?-f\b`)],
    effects: PERSON,
  },
  {
    key: "git clean with force (deletes untracked files)",
    words: ["git"],
    patterns: [
      text(String.raw`\bgit${SPACE}clean(?!${SEGMENT}\s(?:-[dfiqx]{0,8}n|--dry-run\b))${FLAGS}${SPACE}-[a-z]{0,8}f`),
    ],
    effects: [{ kind: "delete", path: undefined }],
  },
  {
    key: "git branch force delete",
    words: ["git"],
    patterns: [caseSensitive(String.raw`\bgit${SPACE}branch${FLAGS}${SPACE}(?:-D\b|--delete${SPACE}--force\b)`)],
    effects: PERSON,
  },
  {
    key: "chmod +x followed by immediate execution",
    words: ["chmod"],
    patterns: [
      text(String.raw`\bchmod${FLAGS}${SPACE}[ugoa]{0,4}\+[rws]{0,3}x\s${SEGMENT}(?:;|&&|\|\||\n)\s{0,20}\.\/`),
    ],
    effects: CODE,
  },
  {
    key: "git checkout/restore discarding changes",
    words: ["git"],
    patterns: [text(String.raw`\bgit${SPACE}(?:checkout|restore)(?:${SPACE}--)?${SPACE}\.\/?(?=\s|$|[;&|])`)],
    effects: [{ kind: "delete", path: undefined }],
  },
]

/** D45 to D52. */
function inPlaceEdits(): readonly TextRule[] {
  const targets = [
    ["in-place edit of sensitive credential/SSH/shell-rc path", USER_SENSITIVE],
    ["in-place edit of system config", String.raw`(?<=\s["']?)${SYSTEM_CONFIG}`],
    ["in-place edit of Hermes config/env", HERMES_FILE],
  ] as const
  const editors = [
    ["", ["sed"], String.raw`\bsed${FLAGS}${SPACE}-[a-z]{0,8}i`],
    [" (long flag)", ["sed"], String.raw`\bsed${FLAGS}${SPACE}--in-place\b`],
    [" (perl/ruby)", ["perl", "ruby"], String.raw`\b(?:perl|ruby)${FLAGS}${SPACE}-[a-z0-9]{0,8}i`],
  ] as const
  return targets.flatMap(([key, target]) =>
    editors
      .filter(([suffix]) => !(suffix === " (perl/ruby)" && key.endsWith("system config")))
      .map(([suffix, words, editor]) => ({
        key: key + suffix,
        words,
        patterns: [text(`${editor}${SEGMENT}${target}`)],
        effects: CODE,
      })),
  )
}
