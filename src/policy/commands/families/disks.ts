import { CODE, SYSTEM } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { absolutePath, outputTargets, pathForms } from "../command-paths.ts"
import { hasFlag, optionValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { writtenPaths } from "../written-paths.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

const RAW_DEVICE = /^\/dev\/(?:sd|nvme|hd|mmcblk|vd|xvd|disk|rdisk|mapper\/|dm-|md\d|zd\d|nbd\d|mtd|pmem)/iu
const KERNEL_CONTROL =
  /^\/(?:proc\/sysrq-trigger|dev\/(?:mem|kmem|port)|proc\/kcore|sys\/firmware\/efi\/efivars\/.*)$/iu

const names = (pattern: RegExp, call: Invocation, word: ShellWord): boolean => {
  const { directory } = call.command
  return [absolutePath(word, directory), ...pathForms(word, directory, call.facts)].some(
    (path) => path !== undefined && pattern.test(path),
  )
}
const isDevice = (call: Invocation, word: ShellWord): boolean => names(RAW_DEVICE, call, word)
const hasDevice = (call: Invocation): boolean => call.operands.some((word) => isDevice(call, word))

/** The target of `dd of=…`. */
const ddTarget = (call: Invocation): readonly ShellWord[] =>
  call.words.filter(({ text }) => /^of=/iu.test(text)).map((word) => ({ ...word, text: word.text.slice(3) }))

const writesTo = (call: Invocation): readonly ShellWord[] =>
  call.program === "dd"
    ? ddTarget(call)
    : call.program === "tee" || call.program === "sponge"
      ? call.operands
      : call.operands.slice(-1)

const OUTPUT_DEVICE = /\/dev\//u

/** The output files of a program: what the table of writers knows, the usual options, and the last operand of programs that convert. */
function outputFiles(call: Invocation): readonly ShellWord[] {
  const named = optionValues(
    call,
    "-o",
    "-O",
    "--output",
    "--output-document",
    "--output-file",
    "-out",
    "--out",
    "--outfile",
  )
  const packed = call.words.flatMap((word) => {
    const value = /^-[a-zA-Z]+(\/dev\/[^]+)$/u.exec(word.text)?.[1]
    return value === undefined ? [] : { ...word, text: value }
  })
  const written = writtenPaths(call).filter(({ method }) => method !== "redirection" && method !== "delete")
  const archive = /^(?:g|bsd)?tar$/u.test(call.program) && isCreating(call) ? archiveFile(call) : []
  const last = CONVERTERS.has(call.program) ? call.operands.slice(-1) : []
  const first = ARCHIVERS.has(call.program) ? call.operands.slice(0, 2) : []
  return [...named, ...packed, ...written.map(({ word }) => word), ...archive, ...last, ...first]
}

const CONVERTERS = new Set(
  "rsync scp qemu-img ffmpeg convert magick sox partclone.restore flashcp nandwrite bmaptool objcopy gpg".split(" "),
)
const ARCHIVERS = new Set(["zip", "7z", "7za", "ar"])
const isCreating = (call: Invocation): boolean =>
  /^-?[A-Za-z]*[cruA]/u.test(call.words[0]?.text ?? "") || hasFlag(call, /^--(?:create|append|update)$/u)
/** `tar cf FILE`, `tar -c -f FILE`, `tar --file=FILE`. */
const archiveFile = (call: Invocation): readonly ShellWord[] => {
  const packed = /^-?[A-Za-z]*f$/u.test(call.words[0]?.text ?? "") ? call.words.slice(1, 2) : []
  return [...packed, ...optionValues(call, "-f", "--file")]
}

/** Programs that only show what a device is. */
const DISK_INFORMATION = new Set(
  "ls ll lsblk blkid smartctl fdisk df file stat udevadm hdparm findmnt lshw test [ echo printf parted sfdisk sgdisk gdisk grep man".split(
    " ",
  ),
)

export const DISK_RULES: readonly CommandRule[] = [
  {
    key: "format filesystem (mkfs)",
    level: "hardline",
    programs: ["*"],
    when: ({ program }) => program === "mkfs" || program.startsWith("mkfs."),
    does: "formats a file system",
    effects: SYSTEM,
  },
  {
    key: "format filesystem (mkfs)",
    level: "hardline",
    programs: ["mke2fs", "mkswap", "newfs", "mkntfs", "mkdosfs", "mkreiserfs", "mkudffs", "mkexfatfs"],
    when: hasDevice,
    does: "formats a file system",
    effects: SYSTEM,
  },
  {
    key: "dd to raw block device",
    level: "hardline",
    programs: ["dd", "dcfldd", "tee", "sponge", "cp", "mv", "install", "gdd"],
    when: (call) => writesTo(call).some((word) => isDevice(call, word)),
    does: "overwrites a disk",
    effects: SYSTEM,
  },
  {
    key: "dd to raw block device",
    level: "hardline",
    programs: [
      "shred",
      "wipefs",
      "blkdiscard",
      "badblocks",
      "scrub",
      "wipe",
      "ddrescue",
      "pv",
      "truncate",
      "fallocate",
    ],
    when: (call) =>
      hasDevice(call) &&
      !(
        call.program === "wipefs" &&
        !hasFlag(call, /^-[a-z]*[ao]|^--(?:all|offset)/u) &&
        hasFlag(call, /^-[a-z]*n|--no-act/u)
      ),
    does: "overwrites a disk",
    effects: SYSTEM,
  },
  {
    key: "write a file to a raw block device",
    level: "hardline",
    programs: ["*"],
    when: (call) => OUTPUT_DEVICE.test(call.command.text) && outputFiles(call).some((word) => isDevice(call, word)),
    does: "overwrites a disk",
    effects: SYSTEM,
  },
  {
    key: "redirect to raw block device",
    level: "hardline",
    programs: ["*"],
    when: (call) => outputTargets(call.command).some((word) => isDevice(call, word)),
    does: "overwrites a disk",
    effects: SYSTEM,
  },
  {
    key: "write to a kernel control file",
    level: "hardline",
    programs: ["*"],
    when: (call) =>
      [
        ...outputTargets(call.command),
        ...(["tee", "dd", "cp", "mv", "install"].includes(call.program) ? writesTo(call) : []),
      ].some((word) => names(KERNEL_CONTROL, call, word)),
    does: "acts on the running kernel or on the memory of the machine",
    effects: SYSTEM,
  },
  {
    key: "destroy partitions or volumes",
    level: "hardline",
    programs: ["sgdisk", "gdisk", "fdisk", "sfdisk", "cfdisk", "parted"],
    when: (call) =>
      hasDevice(call) &&
      !hasFlag(
        call,
        call.program === "sfdisk"
          ? /^-[dlsJVF]$|^--(?:dump|list|json|verify|show)/u
          : /^-[lpvi]$|^--(?:list|print|verify|info)/u,
      ) &&
      !call.operands.some(({ text }) => text === "print"),
    does: "changes the partitions of a disk",
    effects: SYSTEM,
  },
  {
    key: "destroy partitions or volumes",
    level: "hardline",
    programs: [
      "cryptsetup",
      "zpool",
      "hdparm",
      "nvme",
      "mdadm",
      "diskutil",
      "vgremove",
      "pvremove",
      "cryptsetup-reencrypt",
    ],
    when: (call) =>
      call.program.endsWith("remove") ||
      call.words.some(({ text }) =>
        /^(?:luksFormat|luksErase|erase|destroy|format|sanitize|--security-erase\S*|--trim-sector\S*|--zero-superblock|erase(?:Disk|Volume)|zeroDisk|secureErase)$/iu.test(
          text,
        ),
      ),
    does: "destroys a disk or volume",
    effects: SYSTEM,
  },
  {
    key: "delete a volume",
    programs: ["lvremove", "zfs", "btrfs", "lvreduce", "lvresize"],
    when: (call) =>
      call.program.startsWith("lv") ||
      ["destroy", "rollback", "delete"].some((name) => subcommands(call).includes(name)),
    does: "deletes a volume or snapshot",
    effects: SYSTEM,
  },
  {
    key: "format filesystem",
    programs: ["mke2fs", "mkswap", "newfs", "mkntfs", "mkdosfs", "mkreiserfs", "mkudffs", "mkexfatfs"],
    when: (call) => !hasDevice(call) && call.operands.length > 0,
    does: "formats a file system",
    effects: CODE,
  },
  {
    key: "disk copy",
    programs: ["dd", "gdd", "dcfldd"],
    when: ({ words }) => words.some(({ text }) => /^if=/iu.test(text)),
    does: "copies blocks from one file or device to another",
    effects: (call) =>
      ddTarget(call).map((word) => ({ kind: "write", path: absolutePath(word, call.command.directory) })),
  },
  {
    key: "access a raw disk",
    programs: ["*"],
    when: (call) =>
      call.words.some(
        (word) =>
          /^(?:if=)?\/dev\//u.test(word.text) && isDevice(call, { ...word, text: word.text.replace(/^if=/u, "") }),
      ) && !DISK_INFORMATION.has(call.program),
    does: "uses a disk past the permissions of its files",
    effects: SYSTEM,
  },
  {
    key: "mount or unmount",
    programs: [
      "mount",
      "umount",
      "losetup",
      "swapoff",
      "cryptsetup",
      "fsck",
      "resize2fs",
      "tune2fs",
      "xfs_repair",
      "debugfs",
    ],
    when: (call) => call.operands.length > 0 || hasFlag(call, /^-[a-z]*[aD]|^--(?:all|detach-all)$/u),
    does: "changes file systems",
    effects: SYSTEM,
  },
]
