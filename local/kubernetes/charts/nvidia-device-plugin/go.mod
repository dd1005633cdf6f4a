// NVIDIA's Go module of the device plugin has its Helm chart, with the bundled chart of Node Feature Discovery.
module lamplighter/charts

go 1.25

require github.com/NVIDIA/k8s-device-plugin v0.18.2
