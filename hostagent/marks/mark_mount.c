#include "hostagent/marks/mark_mount.h"

#include "hostagent/files.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool mark_mount_stands(const struct mark_config *config)
{
    struct statfs fs;
    return statfs(config->bpffs, &fs) == 0 && fs.f_type == BPF_FS_MAGIC;
}

/* A file that marks the mount as ours, made before it. */
static void mount_note(const struct mark_config *config, char path[FILES_PATH])
{
    files_path(path, "%s/mounted", config->state_dir);
}

int mark_mount(const struct mark_config *config, struct err *err)
{
    const char *path = config->bpffs;
    char note[FILES_PATH];
    if (mark_mount_stands(config))
        return 0;
    mount_note(config, note);
    int r = files_write(note, "", 0, 0600, err);
    if (r >= 0)
        r = files_make_dirs(path, 0755, err);
    if (r < 0)
        return r;
    if (mount("bpf", path, "bpf", 0, "mode=0700") < 0)
        return err_sys(err, errno, "mounting a bpf file system on %s", path);
    return 0;
}

int mark_unmount(const struct mark_config *config, struct err *err)
{
    char note[FILES_PATH];
    mount_note(config, note);
    if (access(note, F_OK) < 0)
        return 0; /* it was there before us */
    if (mark_mount_stands(config) && umount(config->bpffs) < 0)
        return err_sys(err, errno, "unmounting %s", config->bpffs);
    rmdir(config->bpffs);
    unlink(note);
    return 0;
}

int mark_mount_plan(const struct mark_config *config, struct changes *changes, struct err *err)
{
    char note[FILES_PATH];
    if (mark_mount_stands(config))
        return 0;
    changes_need(changes, CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "mount a bpf file system");
    mount_note(config, note);
    int r = changes_path(changes, "file", note, "the mount below is ours", err);
    if (r >= 0)
        r = changes_path(changes, "folder", config->bpffs, "to mount on", err);
    return r < 0 ? r
                 : changes_tell(changes, CHANGE_ADD, "mount", config->bpffs, err,
                                "a bpf file system");
}

int mark_unmount_plan(const struct mark_config *config, struct changes *changes, struct err *err)
{
    char note[FILES_PATH];
    mount_note(config, note);
    if (access(note, F_OK) < 0)
        return 0;
    int r = !mark_mount_stands(config) ? 0
                                       : changes_tell(changes, CHANGE_REMOVE, "mount",
                                                      config->bpffs, err, "our bpf file system");
    if (r >= 0 && access(config->bpffs, F_OK) == 0)
        r = changes_tell(changes, CHANGE_REMOVE, "folder", config->bpffs, err, "it is mounted on");
    return r < 0
               ? r
               : changes_tell(changes, CHANGE_REMOVE, "file", note, err, "the mount there is ours");
}
