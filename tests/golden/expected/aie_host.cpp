// The Arm core's side of the layers on the array: called by the network's C.
//
// Weights are run-time parameters, set when a layer runs for the first time, and stay in the tiles;
// those that are streamed lie in memory that the array reaches from then on.
#include <cstring>
#include <mutex>
#ifdef MA_XRT
#include <cstdlib>

#include <adf/adf_api/XRTConfig.h>
#include <experimental/xrt_device.h>
#endif

#include "net_graphs.h"
#include "ma_array.h"

namespace {
    /// The array runs one layer at a time.
    std::mutex array_mutex;
#ifdef MA_XRT
    /// Opens the device and loads what the environment variable MA_XCLBIN names.
    void open_device() {
        const char *const file = std::getenv("MA_XCLBIN");
        const xrtDeviceHandle device = xrtDeviceOpen(0);
        xuid_t uuid;
        if (file == nullptr || device == nullptr || xrtDeviceLoadXclbinFile(device, file) != 0) {
            std::abort();
        }
        xrtDeviceGetXclbinUUID(device, uuid);
        adf::registerXRT(device, uuid);
    }
#endif
    /// Starts all graphs, once.
    void start_array() {
        static bool started = false;
        if (started) {
            return;
        }
        started = true;
#ifdef MA_XRT
        open_device();
#endif
        fc.init();
    }
    /// Memory that the array's interfaces reach.
    void *array_memory(unsigned bytes) { return adf::GMIO::malloc(bytes); }
}  // namespace

extern "C" void fc_array(const void *x, const void *weight, const void *offset, void *y) {
    const std::lock_guard<std::mutex> one(array_mutex);
    start_array();
    static void *const x_memory = array_memory(700);
    static void *const y_memory = array_memory(84);
    static bool loaded = false;
    if (!loaded) {
        loaded = true;
        fc.update(fc.parameter[0], reinterpret_cast<const int8 *>(static_cast<const char *>(weight) + 0), 896);
        fc.update(fc.parameter[1], reinterpret_cast<const int32 *>(static_cast<const char *>(offset) + 0), 16);
        fc.update(fc.parameter[2], reinterpret_cast<const int8 *>(static_cast<const char *>(weight) + 0), 896);
    }
    std::memcpy(x_memory, x, 700);
    fc.x.gm2aie_nb(x_memory, 700);
    fc.y.aie2gm_nb(y_memory, 84);
    fc.run(1);
    fc.y.wait();
    std::memcpy(y, y_memory, 84);
    fc.wait();
}
