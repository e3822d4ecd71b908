# A kind node: Debian with systemd (BASE), under what node-image has put together in
# files/, with Kubernetes' own images (images.tar) in containerd's store.
ARG BASE
FROM ${BASE} AS node
COPY files/ /
# Of Debian's units a node needs the journal and what its own two units ask for. The
# kernel's log is the host's.
RUN cd /lib/systemd/system \
 && rm -f multi-user.target.wants/* local-fs.target.wants/* basic.target.wants/* /etc/systemd/system/*.wants/* \
      sysinit.target.wants/systemd-tmpfiles-setup.service sockets.target.wants/*udev* sockets.target.wants/*initctl* \
 && echo ReadKMsg=no >>/etc/systemd/journald.conf \
 && systemctl enable kubelet.service containerd.service undo-mount-hacks.service \
 && systemctl mask systemd-binfmt.service \
 && ctr oci spec | jq 'del(.process.rlimits)' >/etc/containerd/cri-base.json

FROM node AS store
LABEL dray.dev/kind-node=store
COPY images.tar /
RUN containerd >/tmp/log 2>&1 & \
    for i in $(seq 150); do ctr version >/dev/null 2>&1 && break; sleep 0.2; done; \
    ctr --namespace k8s.io images import --no-unpack --label io.cri-containerd.pinned=pinned /images.tar || { cat /tmp/log; exit 1; }; \
    kill $!; wait; rm -rf /run/containerd

FROM node
COPY --from=store /var/lib/containerd /var/lib/containerd
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
